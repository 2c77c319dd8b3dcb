/* SPDX-License-Identifier: MIT */
/*
 * The report of a run: its times, then where most of them went, a table for each question that
 * hot_spots.h answers, and what was lost.
 *
 * A table ends with a line for all that it leaves out, so that it adds up to the run's total. The
 * functions on the CPU have their own time, which adds up, and their total time with what they
 * call.
 *
 * GPU time is the sum of the operations' times; with a timeline, there is also the time that each
 * GPU worked, where work of several streams counts once (busy.h).
 */
#ifndef PROFILER_REPORT_TOP_H
#define PROFILER_REPORT_TOP_H

#include <stdbool.h>
#include "profiler/base/log.h"
#include "profiler/model/result.h"

enum top_size {
	TOP_SHORT, /* for the end of each run on a terminal: at most TOP_SHORT_LINES */
	TOP_FULL
};
#define TOP_SHORT_LINES 25

/* `width`: columns of the terminal; names are cut to it. */
void top_report(struct log *log, const struct result *result, enum top_size size,
		unsigned int width);

/*
 * Reports what profiling cost, in one line: after a full report that no summary follows, which
 * would end with the same (summary_report_cost). For a trace: what the library did.
 */
void top_report_cost(struct log *log, const struct totals *totals);

/* Returns how many bytes of a name fit into so many columns (columns.h), with room for an ellipsis
 * if not all do. */
int top_fitting(const char *name, unsigned int width);

/*
 * The part of a name that is shown: `bytes` of `text`, between ellipses where something is left
 * out.
 */
struct top_name {
	const char *before, *text;
	int bytes;
	const char *after;
};

/* Returns what fits into so many columns: all, or the end without outer scopes, or the beginning.
 */
struct top_name top_name(const char *name, unsigned int width);

/* Returns the width of the terminal that stderr is; `otherwise` if it is none. */
#define TOP_WIDTH 80 /* of the report */
unsigned int top_width(unsigned int otherwise);
bool top_is_on_terminal(void);

#endif
