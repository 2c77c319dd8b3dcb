// SPDX-License-Identifier: MIT
#include "profiler/formats/value_columns.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static const struct {
	const char *type, *unit;
} columns[COLUMNS] = {
	[ROW_CPU] = {"cpu", "nanoseconds"},       [ROW_GPU] = {"gpu", "nanoseconds"},
	[ROW_WAIT] = {"waiting", "nanoseconds"},  [ROW_CALL] = {"cuda_calls", "nanoseconds"},
	[ROW_IDLE] = {"gpu_idle", "nanoseconds"}, [COLUMN_OPERATIONS] = {"operations", "count"},
	[COLUMN_BYTES] = {"copied", "bytes"}};

const char *value_column_type(const struct value_columns *c, int column)
{
	return column == COLUMN_WEIGHT ? c->weight->title : columns[column].type;
}

const char *value_column_unit(const struct value_columns *c, int column)
{
	const char *unit;

	if (column != COLUMN_WEIGHT)
		return columns[column].unit;
	unit = c->weight->unit;
	if (strcmp(unit, WEIGHT_BYTES) == 0)
		return "bytes";
	if (strcmp(unit, WEIGHT_NS) == 0)
		return "nanoseconds";
	return unit[0] ? unit : "count";
}

uint64_t value_column_of(const struct row *row, int column)
{
	switch (column) {
	case COLUMN_OPERATIONS:
		return row->kind == ROW_GPU ? row->count : 0;
	case COLUMN_BYTES:
		return row->bytes;
	case COLUMN_WEIGHT:
		return row->ns;
	default:
		return row->kind == (uint32_t)column ? row->ns : 0;
	}
}

void value_columns_choose(struct value_columns *c, const struct result *result)
{
	static const int order[] = {COLUMN_OPERATIONS, COLUMN_BYTES, ROW_CALL, ROW_WAIT, ROW_IDLE};
	bool has[COLUMNS] = {[COLUMN_OPERATIONS] = true, [COLUMN_BYTES] = true};
	bool has_gpu_time = false;

	c->count = 0;
	c->weight = result->weight;
	if (c->weight) {
		c->list[c->count++] = COLUMN_OPERATIONS;
		c->list[c->count++] = COLUMN_WEIGHT;
		return;
	}
	for (uint32_t i = 0; i < result->row_count; i++) {
		const struct row *row = &result->rows[i];

		has[row->kind] = true;
		has_gpu_time |= row->kind == ROW_GPU && row->ns > 0;
	}
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		if (has[order[i]])
			c->list[c->count++] = order[i];
	c->list[c->count++] = has_gpu_time ? ROW_CPU : ROW_GPU;
	c->list[c->count++] = has_gpu_time ? ROW_GPU : ROW_CPU;
}
