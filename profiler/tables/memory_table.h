/* SPDX-License-Identifier: MIT */
/*
 * Makes the tables of memory (memory_use.h).
 */
#ifndef PROFILER_TABLES_MEMORY_TABLE_H
#define PROFILER_TABLES_MEMORY_TABLE_H

struct report_table;
struct result;

/* Make the tables: by device, by stack, and pools. Return NULL with errno set. */
struct report_table *memory_totals_report_table(const struct result *result);
struct report_table *memory_rows_report_table(const struct result *result);
struct report_table *memory_pools_report_table(const struct result *result);

#endif
