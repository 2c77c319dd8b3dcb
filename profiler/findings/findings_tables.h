/* SPDX-License-Identifier: MIT */
/*
 * Shows findings as tables (report_table.h): in the report, in JSON, and as tabs of the page.
 *
 *   findings     each claim, how certain it is, and what to run next
 *   gpu_time     what each GPU did in the steady part, and in the whole run
 *   steps        the times of steps, one row for each series
 *   idle_causes  the idle time of the steady part, by cause and site
 *
 * Without findings, or without a course of the run, the tables are empty.
 */
#ifndef PROFILER_FINDINGS_FINDINGS_TABLES_H
#define PROFILER_FINDINGS_FINDINGS_TABLES_H

#include "profiler/tables/report_table.h"

/* Make the tables. Return NULL with errno set. */
struct report_table *findings_report_table(const struct result *result);
struct report_table *gpu_time_report_table(const struct result *result);
struct report_table *steps_report_table(const struct result *result);
struct report_table *idle_causes_report_table(const struct result *result);

#endif
