/* SPDX-License-Identifier: MIT */
/*
 * Answers the question of --query on standard output: `profile --from x.profile --query verdict`.
 */
#ifndef PROFILER_COMMANDS_ASK_H
#define PROFILER_COMMANDS_ASK_H

#include "profiler/commands/options.h"
#include "profiler/output/outputs.h"

/*
 * Writes the answer about the result that is shown. Reads the capture that it is compared with.
 * Returns 0, or the exit status after logging the reason.
 */
int ask(struct log *log, const struct options *options, const struct outputs *outputs,
	const struct result *result);

#endif
