/* SPDX-License-Identifier: MIT */
/*
 * Runs a command, or attaches to processes, and writes the profile: `profile [options] command`.
 */
#ifndef PROFILER_COMMANDS_RUN_H
#define PROFILER_COMMANDS_RUN_H

#include "profiler/commands/options.h"
#include "profiler/run/inherited.h"

/*
 * Returns the exit status, after logging any error. Returns in two processes (supervisor.h); both
 * must exit with the status.
 */
int run(const struct options *options, const struct inherited *inherited);

#endif
