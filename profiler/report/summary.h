/* SPDX-License-Identifier: MIT */
/*
 * The summary at the end of a run, on stderr: what was counted, matched, lost and written. A line
 * accounts for everything that is missing from the profile.
 */
#ifndef PROFILER_REPORT_SUMMARY_H
#define PROFILER_REPORT_SUMMARY_H

#include "profiler/base/log.h"
#include "profiler/base/measure.h"
#include "profiler/model/cut_stacks.h"
#include "profiler/model/result.h"

/* Printed before names are looked up, which takes a moment. `devices`: those of the ledger's rows.
 */
void summary_report(struct log *log, const struct measure *measure, const struct totals *totals,
		    const struct devices *devices);

/* With -v: for what reasons stacks are cut, and in which files most of them. */
void summary_report_cut(struct log *log, const struct cut_stacks *cut,
			struct symbolizer *symbolizer);

/* How long threads that only wait for work were blocked there (shape/idle_threads.h). */
void summary_report_idle_threads(struct log *log, const struct result *result);

/* Reports where names are missing, and why. */
void summary_report_unnamed(struct log *log, const struct unnamed *unnamed);

/* An output that was written to a file. */
struct summary_written {
	const char *file;
	const char *item; /* "stack" */
	bool is_first;    /* of several: why a profile is empty is said once */
	const char *unit; /* "samples", "us", "ns"; NULL: totals are in ns, and shown as times */
	const struct weight *weight; /* what totals are; NULL: times */
	struct written written;
};
void summary_report_written(struct log *log, const struct measure *measure,
			    const struct totals *totals, const struct summary_written *written);

/*
 * Reports what the run cost, after everything else: in the program, in the operating system, in
 * the profiler, whose own CPU time and memory `totals` has up to now. The time in the
 * program has its share of the programs' CPU time, and is at most that; where the latter is known
 * for a part of their run alone (-p, -d, processes that outlive the command), it has none.
 */
void summary_report_cost(struct log *log, const struct totals *totals);

#endif
