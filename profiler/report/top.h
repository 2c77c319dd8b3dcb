/* SPDX-License-Identifier: MIT */
/*
 * The report of a run: where most of its time went, ten lines for each question that digest.h
 * answers.
 *
 * A table ends with a line for all that it leaves out, so that it adds up to the run's total.
 */
#ifndef PROFILER_REPORT_TOP_H
#define PROFILER_REPORT_TOP_H

#include "profiler/base/log.h"
#include "profiler/profile/result.h"

/* `width`: columns of the terminal; names are cut to it. */
void top_report(struct log *log, const struct result *result, unsigned int width);

/* The width of the terminal that stderr is; 100 if it is none. */
unsigned int top_width(void);

#endif
