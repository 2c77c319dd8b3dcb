/* SPDX-License-Identifier: MIT */
/*
 * What the samples of pprof and of OTLP's profiles have values of: the time of each kind of row,
 * and operations and copied bytes of GPU work. Where rows have another weight in place of times
 * (--weight): operations, and that.
 */
#ifndef PROFILER_FORMATS_VALUE_COLUMNS_H
#define PROFILER_FORMATS_VALUE_COLUMNS_H

#include <stdint.h>
#include "profiler/model/result.h"

/* Besides enum row_kind. */
enum { COLUMN_OPERATIONS = ROW_KINDS, COLUMN_BYTES, COLUMN_WEIGHT, COLUMNS };

struct value_columns {
	int list[COLUMNS]; /* those that a result has; the last one is what it is looked at for */
	int count;
	const struct weight *weight; /* the result's, of COLUMN_WEIGHT */
};

void value_columns_choose(struct value_columns *columns, const struct result *result);

/* "gpu", "nanoseconds"; "dram__bytes.sum", "bytes" */
const char *value_column_type(const struct value_columns *columns, int column);
const char *value_column_unit(const struct value_columns *columns, int column);

uint64_t value_column_of(const struct row *row, int column);

#endif
