/* SPDX-License-Identifier: MIT */
/*
 * Reports the ranks of merged runs: their number, alignment of clocks, slow and late ranks,
 * failures.
 */
#ifndef PROFILER_REPORT_RANKS_REPORT_H
#define PROFILER_REPORT_RANKS_REPORT_H

#include "profiler/base/log.h"
#include "profiler/model/result.h"

/* Prints the report; nothing if the result has no ranks. */
void ranks_report(struct log *log, const struct result *result);

#endif
