/* SPDX-License-Identifier: MIT */
/*
 * Chooses the value columns that samples have in pprof and in OTLP profiles.
 *
 * The columns are the time of each kind of row, and the operations and copied bytes of GPU work.
 * If rows have a weight in place of time (--weight), they are operations, and that weight.
 */
#ifndef PROFILER_FORMATS_VALUE_COLUMNS_H
#define PROFILER_FORMATS_VALUE_COLUMNS_H

#include <stdint.h>
#include "profiler/model/result.h"

/* Besides enum row_kind. */
enum { COLUMN_OPERATIONS = ROW_KINDS, COLUMN_BYTES, COLUMN_WEIGHT, COLUMNS };

struct value_columns {
	int list[COLUMNS]; /* columns of the result; the last one is the default */
	int count;
	const struct weight *weight; /* the result's, for COLUMN_WEIGHT */
};

void value_columns_choose(struct value_columns *columns, const struct result *result);

/* Returns the type, or the unit: "gpu", "nanoseconds"; "dram__bytes.sum", "bytes". */
const char *value_column_type(const struct value_columns *columns, int column);
const char *value_column_unit(const struct value_columns *columns, int column);

uint64_t value_column_of(const struct row *row, int column);

#endif
