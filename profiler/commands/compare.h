/* SPDX-License-Identifier: MIT */
/*
 * Compares runs: what `profile --diff BEFORE AFTER` does, and what --baseline adds to a run and to
 * --from.
 */
#ifndef PROFILER_COMMANDS_COMPARE_H
#define PROFILER_COMMANDS_COMPARE_H

#include "profiler/commands/options.h"
#include "profiler/run/identity.h"
#include "profiler/run/inherited.h"

/* Returns the exit status, after logging any error. */
int compare(const struct options *options, const struct inherited *inherited);

/*
 * Returns whether the baselines can be read, by another process that has given up all privileges
 * and then ends: call it before the command runs. It logs the reason if not. True where there are
 * none.
 */
bool compare_check_baselines(struct log *log, const struct options *options,
			     const struct identity *identity);

/*
 * Reports how a result differs from the baselines, and checks --fail-above. Timelines are
 * beside the outputs. Returns the exit status. 0 where there are none.
 */
int compare_with_baselines(struct log *log, const struct options *options,
			   const struct result *result, const struct outputs *outputs);

#endif
