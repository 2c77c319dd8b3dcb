/* SPDX-License-Identifier: MIT */
/*
 * Writes outputs from captures and traces: `profile --from FILE...`.
 *
 * The files are one run, or the ranks of a job, which are merged. Traces with one rank, or without
 * a rank, are processes of one run. If any file cannot be read or merged, nothing is written.
 */
#ifndef PROFILER_COMMANDS_FROM_H
#define PROFILER_COMMANDS_FROM_H

#include "profiler/commands/options.h"
#include "profiler/run/inherited.h"

/* Returns the exit status, after logging any error. */
int from(const struct options *options, const struct inherited *inherited);

#endif
