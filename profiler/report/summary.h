/* SPDX-License-Identifier: MIT */
/*
 * The summary at the end, on stderr: what was counted, what was joined, what was lost, what was
 * written. Everything that did not get into the profile has a line here.
 */
#ifndef PROFILER_REPORT_SUMMARY_H
#define PROFILER_REPORT_SUMMARY_H

#include "profiler/report/accounts.h"
#include "profiler/commands/options.h"
#include "profiler/session/session.h"
#include "profiler/output/writer.h"

void report_summary(struct log *log, const struct options *options,
		    const struct session_stats *stats, const struct accounts *accounts,
		    const char *first_malformed);

void report_written(struct log *log, const struct options *options,
		    const struct writer_result *result);

#endif
