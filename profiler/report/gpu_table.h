/* SPDX-License-Identifier: MIT */
/*
 * Reports the GPU work of a profile by device and kind, and compares it with CUPTI's own sums.
 */
#ifndef PROFILER_REPORT_GPU_TABLE_H
#define PROFILER_REPORT_GPU_TABLE_H

#include "profiler/base/log.h"
#include "profiler/model/result.h"

/* Prints one line per device and kind, then how many of CUPTI's sums match. */
void gpu_table_report(struct log *log, const struct ledger *ledger, const struct devices *devices);

/* Lists the used devices of all processes, one per line (-v). */
void gpu_table_report_devices(struct log *log, const struct result *result);

#endif
