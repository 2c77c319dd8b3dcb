/* SPDX-License-Identifier: MIT */
/*
 * Why kernels' warps stalled, and at which lines, from the rows of a result (--stalls).
 */
#ifndef PROFILER_TABLES_STALL_SHARES_H
#define PROFILER_TABLES_STALL_SHARES_H

#include "profiler/tables/figures.h"

/* By kernel and reason, the longest time first. NULL with errno. */
struct figures *stall_shares_figures(const struct result *result);

#endif
