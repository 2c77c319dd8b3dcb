/* SPDX-License-Identifier: MIT */
/*
 * Makes the table of hardware counters (counters.h): a row for each kernel and metric, kernels with
 * most time first.
 */
#ifndef PROFILER_TABLES_COUNTERS_TABLE_H
#define PROFILER_TABLES_COUNTERS_TABLE_H

struct report_table;
struct result;

/* Makes the table. Returns NULL with errno set. */
struct report_table *counters_report_table(const struct result *result);

#endif
