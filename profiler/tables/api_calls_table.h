/* SPDX-License-Identifier: MIT */
/*
 * Makes the table of CUDA calls (api_calls.h), the longest time first.
 */
#ifndef PROFILER_TABLES_API_CALLS_TABLE_H
#define PROFILER_TABLES_API_CALLS_TABLE_H

struct report_table;
struct result;

/* Makes the table. Returns NULL with errno set. */
struct report_table *api_calls_report_table(const struct result *result);

#endif
