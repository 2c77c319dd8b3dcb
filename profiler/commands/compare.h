/* SPDX-License-Identifier: MIT */
/*
 * Compares runs: `profile --diff BEFORE AFTER`, and --baseline for a run or --from.
 */
#ifndef PROFILER_COMMANDS_COMPARE_H
#define PROFILER_COMMANDS_COMPARE_H

#include "profiler/commands/options.h"
#include "profiler/run/identity.h"
#include "profiler/run/inherited.h"

/* Returns the exit status, after logging any error. */
int compare(const struct options *options, const struct inherited *inherited);

/*
 * Returns whether the baselines can be read, or none are given. Logs the reason if not. A child
 * without privileges reads them, before the command runs.
 */
bool compare_check_baselines(struct log *log, const struct options *options,
			     const struct identity *identity);

/*
 * Reports the differences from the baselines, and checks --fail-above. Timelines are kept beside
 * the outputs. Returns the exit status; 0 without baselines.
 */
int compare_with_baselines(struct log *log, const struct options *options,
			   const struct result *result, const struct outputs *outputs);

/*
 * Compares a result, after, with the capture at `path`, before. Calls `use` with the comparison,
 * and sets `*used` to what `use` returns. Returns false after logging the reason.
 */
struct comparison;
bool compare_with(struct log *log, const struct options *options, const char *path,
		  const struct result *result, const struct outputs *outputs,
		  int (*use)(void *context, const struct comparison *comparison), void *context,
		  int *used);

#endif
