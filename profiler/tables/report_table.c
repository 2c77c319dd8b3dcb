// SPDX-License-Identifier: MIT
#include "profiler/tables/report_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "symbolize/util/array.h"
#include "symbolize/util/number.h"

struct report_table *report_table_new(const char *key, const char *title,
				      const struct report_column *columns, uint32_t column_count)
{
	struct report_table *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->key = key;
	f->title = title;
	f->columns = columns;
	f->column_count = column_count;
	return f;
}

void report_table_free(struct report_table *f)
{
	if (!f)
		return;
	intern_release(&f->strings);
	free(f->cells);
	free(f->own_columns);
	free(f);
}

void report_table_add(struct report_table *f, const void *row)
{
	union report_cell *cells;

	if (f->count >= REPORT_TABLE_ROWS_MAX ||
	    !array_make_room(&f->cells, f->count, &f->capacity,
			     f->column_count * sizeof(*f->cells))) {
		f->left_out++;
		return;
	}
	cells = f->cells + (size_t)f->count * f->column_count;
	for (uint32_t i = 0; i < f->column_count; i++) {
		const struct report_column *column = &f->columns[i];

		cells[i].number = number_load(row, column->offset, column->size);
		if (!report_cell_is_text(column->kind))
			continue;
		cells[i].text = intern_string(&f->strings, cells[i].text);
		if (!cells[i].text) {
			f->left_out++;
			return;
		}
	}
	f->count++;
}

struct report_table *
report_table_fill(struct report_table *report_table, const struct result *result,
		  const void *records, uint32_t count, size_t size,
		  int (*compare)(const void *a, const void *b),
		  void (*add)(struct report_table *f, const struct result *r, const void *record))
{
	const void **sorted = report_table ? calloc(count + (size_t)1, sizeof(const void *)) : NULL;

	if (!sorted) {
		report_table_free(report_table);
		errno = ENOMEM;
		return NULL;
	}
	for (uint32_t i = 0; i < count; i++)
		sorted[i] = (const char *)records + i * size;
	qsort(sorted, count, sizeof(const void *), compare);
	for (uint32_t i = 0; i < count; i++)
		add(report_table, result, sorted[i]);
	free(sorted);
	return report_table;
}
