// SPDX-License-Identifier: MIT
#include "profiler/tables/figures.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "symbolize/util/array.h"

struct figures *figures_new(const char *key, const char *title, const struct figure_column *columns,
			    uint32_t column_count)
{
	struct figures *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->key = key;
	f->title = title;
	f->columns = columns;
	f->column_count = column_count;
	return f;
}

void figures_free(struct figures *f)
{
	if (!f)
		return;
	intern_release(&f->strings);
	free(f->cells);
	free(f->own_columns);
	free(f);
}

void figures_add(struct figures *f, const union figure *row)
{
	union figure *cells;

	if (f->count >= FIGURES_ROWS_MAX || !array_make_room(&f->cells, f->count, &f->capacity,
							     f->column_count * sizeof(*f->cells))) {
		f->left_out++;
		return;
	}
	cells = f->cells + (size_t)f->count * f->column_count;
	for (uint32_t i = 0; i < f->column_count; i++) {
		cells[i] = row[i];
		if (!figure_is_text(f->columns[i].kind))
			continue;
		cells[i].text = intern_string(&f->strings, row[i].text);
		if (!cells[i].text) {
			f->left_out++;
			return;
		}
	}
	f->count++;
}

struct figures *
figures_fill(struct figures *figures, const struct result *result, const void *records,
	     uint32_t count, size_t size, int (*compare)(const void *a, const void *b),
	     void (*add)(struct figures *f, const struct result *r, const void *record))
{
	const void **sorted = figures ? calloc(count + (size_t)1, sizeof(const void *)) : NULL;

	if (!sorted) {
		figures_free(figures);
		errno = ENOMEM;
		return NULL;
	}
	for (uint32_t i = 0; i < count; i++)
		sorted[i] = (const char *)records + i * size;
	qsort(sorted, count, sizeof(const void *), compare);
	for (uint32_t i = 0; i < count; i++)
		add(figures, result, sorted[i]);
	free(sorted);
	return figures;
}
