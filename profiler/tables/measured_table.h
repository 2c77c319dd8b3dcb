/* SPDX-License-Identifier: MIT */
/*
 * Tables of add-ons (result_table.h) as figures: a column for each that has a key, rows with the
 * most of the first column first. Of stacks it is the functions that led there, below the row.
 */
#ifndef PROFILER_TABLES_MEASURED_TABLE_H
#define PROFILER_TABLES_MEASURED_TABLE_H

#include "profiler/model/result_table.h"

struct report_table;
struct result;

/* Makes the figures of a table that was measured. NULL with errno. */
struct report_table *measured_table(const struct result *result, const struct table_kind *kind);

#endif
