/* SPDX-License-Identifier: MIT */
/*
 * Prints the summary of a run on stderr: counts, matches, losses and outputs. Everything that is
 * missing from the profile has a line. Counts and matches are details: they appear with -v, and
 * where they are wrong. The end of a run follows (ending.h).
 */
#ifndef PROFILER_REPORT_SUMMARY_H
#define PROFILER_REPORT_SUMMARY_H

#include "profiler/base/log.h"
#include "profiler/base/measure.h"
#include "profiler/model/cut_stacks.h"
#include "profiler/model/result.h"

/*
 * Prints the first part, before names are looked up, which takes time. `devices` belong to the
 * ledger's rows.
 */
void summary_report(struct log *log, const struct measure *measure, const struct totals *totals,
		    const struct devices *devices);

/* Lists the most frequent reasons and files of cut stacks (-v). */
void summary_report_cut(struct log *log, const struct cut_stacks *cut,
			struct symbolizer *symbolizer);

/* Reports how long threads without work were blocked (shape/idle_threads.h). */
void summary_report_idle_threads(struct log *log, const struct result *result);

/* Reports missing names and the reasons. */
void summary_report_unnamed(struct log *log, const struct unnamed *unnamed);

/* A written output. */
struct summary_written {
	const char *file;
	const char *item; /* "stack" */
	bool is_first;    /* first output: reports why a profile is empty */
	const char *unit; /* "samples", "us", "ns"; NULL: totals are ns, shown as times */
	const struct weight *weight; /* weight of the totals; NULL: time */
	struct written written;
};
/* Warns if the output is empty. With -v, reports its size and its sums. */
void summary_report_written(struct log *log, const struct measure *measure,
			    const struct totals *totals, const struct summary_written *written);

/*
 * Returns the CPU time of the library in programs, in ns: at most that of the programs. Only
 * programs with a goodbye are in it.
 */
uint64_t summary_program_ns(const struct totals *totals);

/*
 * Reports the cost of profiling at the very end (-v): in the program, in the operating system, and
 * in the profiler. `totals` has the profiler's CPU time and memory so far. The time in the program
 * is shown as a share of the programs' CPU time, and is at most that time. There is no share if
 * that time is known only in part (-p, -d, processes that outlive the command).
 */
void summary_report_cost(struct log *log, const struct totals *totals);

#endif
