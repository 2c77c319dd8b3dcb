/* SPDX-License-Identifier: MIT */
/*
 * Runs the command and writes its profile: what `profile [options] command` does.
 */
#ifndef PROFILER_COMMANDS_RUN_H
#define PROFILER_COMMANDS_RUN_H

#include "profiler/commands/options.h"
#include "profiler/run/inherited.h"

/*
 * Returns the exit status, after logging any error. It returns in two processes (supervisor.h),
 * both of which must exit with it.
 */
int run(const struct options *options, const struct inherited *inherited);

#endif
