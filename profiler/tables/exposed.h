/* SPDX-License-Identifier: MIT */
/*
 * Exposed time: how long copies, and collectives of NCCL, ran on each device while no kernel that
 * computes ran there. It is what could be hidden behind such kernels. A kernel that is not NCCL's
 * counts as one that computes; copies and sets do not.
 *
 * From the timeline. Times are those in which at least one of a kind ran: copies side by side count
 * once. Bounded as busy.h is.
 */
#ifndef PROFILER_TABLES_EXPOSED_H
#define PROFILER_TABLES_EXPOSED_H

#include "profiler/tables/report_table.h"

/* By device and kind; NULL with errno. */
struct report_table *exposed_report_table(const struct result *result);

#endif
