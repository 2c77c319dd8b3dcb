/* SPDX-License-Identifier: MIT */
/*
 * Why kernels' warps stalled, and at which lines, from the rows of a result (--stalls).
 */
#ifndef PROFILER_TABLES_STALL_SHARES_H
#define PROFILER_TABLES_STALL_SHARES_H

#include "profiler/tables/report_table.h"

/* By kernel and reason, the longest time first. NULL with errno. */
struct report_table *stall_shares_report_table(const struct result *result);

#endif
