/* SPDX-License-Identifier: MIT */
/* What merged runs have that one run has not: which ranks there are, and how their clocks agree. */
#ifndef PROFILER_REPORT_RANKS_REPORT_H
#define PROFILER_REPORT_RANKS_REPORT_H

#include "profiler/base/log.h"
#include "profiler/model/result.h"

/* Nothing, if the result has no ranks. */
void ranks_report(struct log *log, const struct result *result);

#endif
