/* SPDX-License-Identifier: MIT */
/*
 * Does it add up? What the profile holds of GPU work, by device and kind, and whether that is what
 * CUPTI reported.
 */
#ifndef PROFILER_REPORT_GPU_TABLE_H
#define PROFILER_REPORT_GPU_TABLE_H

#include "profiler/base/log.h"
#include "profiler/profile/result.h"

/* A line for each device and kind, then whether CUPTI's sums are the same. */
void gpu_table_report(struct log *log, const struct ledger *ledger);

/* The devices that were used, each on a line, of all processes together (-v). */
void gpu_table_report_devices(struct log *log, const struct result *result);

#endif
