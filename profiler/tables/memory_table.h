/* SPDX-License-Identifier: MIT */
/*
 * Memory (memory_use.h) as tables.
 */
#ifndef PROFILER_TABLES_MEMORY_TABLE_H
#define PROFILER_TABLES_MEMORY_TABLE_H

struct report_table;
struct result;

/* As tables: by device, by stack, and pools. NULL with errno. */
struct report_table *memory_totals_report_table(const struct result *result);
struct report_table *memory_rows_report_table(const struct result *result);
struct report_table *memory_pools_report_table(const struct result *result);

#endif
