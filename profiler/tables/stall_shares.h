/* SPDX-License-Identifier: MIT */
/*
 * Makes the table of stalls: why kernels' warps stalled, and at which lines (--stalls).
 */
#ifndef PROFILER_TABLES_STALL_SHARES_H
#define PROFILER_TABLES_STALL_SHARES_H

#include "profiler/tables/report_table.h"

/* Makes the table by kernel and reason, the longest time first. Returns NULL with errno set. */
struct report_table *stall_shares_report_table(const struct result *result);

#endif
