/* SPDX-License-Identifier: MIT */
/*
 * The summary at the end of a run, on stderr: what was counted, matched, lost and written. A line
 * accounts for everything that is missing from the profile.
 */
#ifndef PROFILER_REPORT_SUMMARY_H
#define PROFILER_REPORT_SUMMARY_H

#include <stdbool.h>
#include "profiler/base/log.h"
#include "profiler/profile/result.h"

/* The options that the summary depends on. */
struct summary_options {
	bool samples_cpu, traces_gpu;
	bool follows_waits;
};

/* Printed before names are looked up, which takes a moment. */
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
