/* SPDX-License-Identifier: MIT */
/*
 * Prints the report of a run (--top): its times, tables of the largest entries (hot_spots.h), and
 * losses.
 *
 * A table ends with a line for the rest, so that it adds up to the total. Functions on the CPU
 * have own time, which adds up, and total time, which includes their callees. GPU time is the sum
 * of all operations. With a timeline there is also the busy time of each GPU, which counts
 * overlapping work once (busy.h).
 */
#ifndef PROFILER_REPORT_TOP_H
#define PROFILER_REPORT_TOP_H

#include <stdbool.h>
#include "profiler/base/log.h"
#include "profiler/model/result.h"

/* Prints the report. Names are cut to `width` columns. */
void top_report(struct log *log, const struct result *result, unsigned int width);

/*
 * Returns whether the command goes on after the result (-d), so that its run time is unknown. A
 * part that lasts to the end of the run, such as that of --last, ends with the run.
 */
bool top_goes_on(const struct totals *totals);

/*
 * Reports the cost of profiling in one line, after a full report without a summary
 * (summary_report_cost). For a trace, reports the cost of the library.
 */
void top_report_cost(struct log *log, const struct totals *totals);

/*
 * Returns the number of bytes of a name that fit into `width` columns (columns.h). Reserves a
 * column for an ellipsis if the name is cut.
 */
int top_fitting(const char *name, unsigned int width);

/* Visible part of a name: `bytes` of `text`, with ellipses in place of cut parts. */
struct top_name {
	const char *before, *text;
	int bytes;
	const char *after;
};

/* Returns the visible part: the whole name, its end without outer scopes, or its beginning. */
struct top_name top_name(const char *name, unsigned int width);

/* Returns the width of the terminal on stderr, or `otherwise` without a terminal. */
#define TOP_WIDTH 80 /* default width of the report */
unsigned int top_width(unsigned int otherwise);
bool top_is_on_terminal(void);

#endif
