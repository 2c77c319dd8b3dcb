/* SPDX-License-Identifier: MIT */
/*
 * The profile's GPU work, by device and kind, and whether it equals what CUPTI reported.
 */
#ifndef PROFILER_REPORT_GPU_TABLE_H
#define PROFILER_REPORT_GPU_TABLE_H

#include "profiler/base/log.h"
#include "profiler/model/result.h"

/* Prints one line per device and kind, then how many of CUPTI's sums match. */
void gpu_table_report(struct log *log, const struct ledger *ledger, const struct devices *devices);

/* The devices that were used, each on a line, of all processes together (-v). */
void gpu_table_report_devices(struct log *log, const struct result *result);

#endif
