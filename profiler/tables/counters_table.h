/* SPDX-License-Identifier: MIT */
/*
 * Hardware counters (counters.h) as a table: a row for each kernel and metric, kernels with the
 * most time first.
 */
#ifndef PROFILER_TABLES_COUNTERS_TABLE_H
#define PROFILER_TABLES_COUNTERS_TABLE_H

struct figures;
struct result;

/* Makes the table. NULL with errno. */
struct figures *counters_figures(const struct result *result);

#endif
