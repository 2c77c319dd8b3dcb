// SPDX-License-Identifier: MIT
#include "profiler/tables/measured_table.h"

#include <errno.h>
#include <stdlib.h>
#include "profiler/model/result.h"
#include "profiler/tables/report_table.h"
#include "profiler/tables/launch_shapes.h"
#include "profiler/tables/memory_place.h"

#define NUMBER_WIDTH 11
#define TEXT_WIDTH 16
#define STACK_BYTES 1024

static enum report_cell_kind kind_of(const struct table_column *column)
{
	static const enum report_cell_kind numbers[] = {[UNIT_COUNT] = REPORT_CELL_COUNT,
							[UNIT_NS] = REPORT_CELL_TIME,
							[UNIT_BYTES] = REPORT_CELL_BYTES};
	static const enum report_cell_kind others[] = {
		[CELL_REAL] = REPORT_CELL_NUMBER,  [CELL_MOMENT] = REPORT_CELL_TIME,
		[CELL_TEXT] = REPORT_CELL_TEXT,    [CELL_KERNEL] = REPORT_CELL_TEXT,
		[CELL_PROCESS] = REPORT_CELL_TEXT, [CELL_STACK] = REPORT_CELL_NOTE};

	return column->cell == CELL_NUMBER || column->cell == CELL_ROW ? numbers[column->unit]
								       : others[column->cell];
}

static uint8_t width_of(const struct table_column *column, bool is_last)
{
	enum report_cell_kind kind = kind_of(column);

	if (is_last || kind == REPORT_CELL_NOTE)
		return is_last ? UINT8_MAX : 0;
	return column->width ? column->width : kind == REPORT_CELL_TEXT ? TEXT_WIDTH : NUMBER_WIDTH;
}

/* Lists the columns that are shown. Returns their count. `columns` has room for all. */
static uint32_t list_columns(const struct table_kind *kind, struct report_column *columns)
{
	uint32_t count = 0, last = UINT32_MAX;

	for (uint32_t i = 0; i < kind->column_count; i++)
		if (kind->columns[i].key && kind_of(&kind->columns[i]) != REPORT_CELL_NOTE)
			last = i;
	for (uint32_t i = 0; i < kind->column_count; i++) {
		const struct table_column *c = &kind->columns[i];

		if (!c->key)
			continue;
		columns[count] = (struct report_column){c->key,
							c->label,
							kind_of(c),
							width_of(c, i == last),
							sizeof(union report_cell),
							count * sizeof(union report_cell)};
		count++;
	}
	return count;
}

static union report_cell cell_of(const struct result *r, const struct table_column *c,
				 const void *row, char stack[STACK_BYTES])
{
	uint64_t value = table_cell(c, row), start_ns = r->totals.start_ns;

	switch ((enum table_cell)c->cell) {
	case CELL_TEXT:
	case CELL_KERNEL:
		return (union report_cell){.text = table_text(c, row)};
	case CELL_PROCESS:
		return (union report_cell){.text = memory_process_name(r, (uint32_t)value)};
	case CELL_STACK:
		launch_path(result_whole(r), (uint32_t)value, stack, STACK_BYTES);
		return (union report_cell){.text = stack};
	case CELL_MOMENT:
		return (union report_cell){.number = value > start_ns ? value - start_ns : 0};
	case CELL_REAL:
		return (union report_cell){.real = table_real(c, row)};
	default:
		return (union report_cell){.number = value};
	}
}

/* A row with its sort keys. */
struct ordered {
	const void *row;
	uint64_t number;
	uint32_t position;
};

static int by_number(const void *a, const void *b)
{
	const struct ordered *x = a, *y = b;

	if (x->number != y->number)
		return x->number < y->number ? 1 : -1;
	return x->position < y->position ? -1 : 1;
}

struct report_table *measured_table(const struct result *r, const struct table_kind *kind)
{
	const struct result_table *table = result_tables_find(r->tables, kind);
	uint32_t rows = table ? table->count : 0;
	struct report_column *columns = calloc(kind->column_count, sizeof(*columns));
	union report_cell *cells = calloc(kind->column_count, sizeof(*cells));
	char(*stacks)[STACK_BYTES] = calloc(kind->column_count, sizeof(*stacks));
	struct ordered *order = calloc(rows + (size_t)1, sizeof(*order));
	struct report_table *f = NULL;

	if (columns && cells && stacks && order)
		f = report_table_new(kind->key, kind->title, columns, list_columns(kind, columns));
	for (uint32_t i = 0; f && i < rows; i++) {
		const void *row = result_table_row(table, kind, i);

		order[i] = (struct ordered){row, table_cell(&kind->columns[0], row), i};
	}
	if (f && rows)
		qsort(order, rows, sizeof(*order), by_number);
	for (uint32_t i = 0; f && i < rows; i++) {
		uint32_t count = 0;

		for (uint32_t c = 0; c < kind->column_count; c++)
			if (kind->columns[c].key) {
				cells[count] =
					cell_of(r, &kind->columns[c], order[i].row, stacks[count]);
				count++;
			}
		report_table_add(f, cells);
	}
	free(cells);
	free(stacks);
	free(order);
	if (f) {
		f->own_columns = columns;
		return f;
	}
	free(columns);
	errno = ENOMEM;
	return NULL;
}
