/* SPDX-License-Identifier: MIT */
/*
 * Hardware counters (counters.h) as a table: a row for each kernel and metric, kernels with the
 * most time first.
 */
#ifndef PROFILER_TABLES_COUNTERS_TABLE_H
#define PROFILER_TABLES_COUNTERS_TABLE_H

struct report_table;
struct result;

/* Makes the table. NULL with errno. */
struct report_table *counters_report_table(const struct result *result);

#endif
