/* SPDX-License-Identifier: MIT */
/*
 * Makes report tables of the tables that add-ons fill (result_table.h).
 *
 * Each column with a key is shown. Rows with the largest number in the first column come first. A
 * stack is shown as the functions that led there, below the row.
 */
#ifndef PROFILER_TABLES_MEASURED_TABLE_H
#define PROFILER_TABLES_MEASURED_TABLE_H

#include "profiler/model/result_table.h"

struct report_table;
struct result;

/* Makes the report table of a measured table. Returns NULL with errno set. */
struct report_table *measured_table(const struct result *result, const struct table_kind *kind);

#endif
