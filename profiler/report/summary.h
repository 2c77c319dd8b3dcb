/* SPDX-License-Identifier: MIT */
/*
 * The summary at the end of a run, on stderr: what was counted, what was joined, what was lost,
 * what was written. Everything that did not get into the profile has a line here.
 */
#ifndef PROFILER_REPORT_SUMMARY_H
#define PROFILER_REPORT_SUMMARY_H

#include <stdbool.h>
#include "profiler/base/log.h"
#include "profiler/profile/result.h"

/* What was asked for, as far as the summary depends on it. */
struct summary_options {
	bool samples_cpu, traces_gpu;
	bool follows_waits;
};

/* Before names are put in, which takes a moment. */
void summary_report(struct log *log, const struct summary_options *options,
		    const struct totals *totals);

/* Where names are missing, and why. */
void summary_report_unnamed(struct log *log, const struct unnamed *unnamed);

/* What was written: lines of `unit` ("samples", "us", "ns") to `file`. */
struct summary_written {
	const char *file, *unit;
	uint64_t stacks;
	uint64_t total[ROW_KINDS]; /* in units */
	double exact_ns;
};
void summary_report_written(struct log *log, const struct summary_options *options,
			    const struct totals *totals, const struct summary_written *written);

#endif
