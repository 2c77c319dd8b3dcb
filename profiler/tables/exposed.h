/* SPDX-License-Identifier: MIT */
/*
 * Finds exposed time: how long copies, and collectives of NCCL, ran on a device while no kernel
 * computed there.
 *
 * This time could be hidden behind kernels that compute. All kernels that are not NCCL's compute;
 * copies and sets do not. Reads the timeline. A time counts once, however many operations of a kind
 * run. Bounded as busy.h is.
 */
#ifndef PROFILER_TABLES_EXPOSED_H
#define PROFILER_TABLES_EXPOSED_H

#include "profiler/tables/report_table.h"

/* Makes the table, by device and kind. Returns NULL with errno set. */
struct report_table *exposed_report_table(const struct result *result);

#endif
