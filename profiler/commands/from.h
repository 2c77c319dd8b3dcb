/* SPDX-License-Identifier: MIT */
/*
 * Writes the outputs of a run that is over, from its capture or the traces of its processes, or of
 * a job, from those of its ranks: what `profile --from FILE...` does. Traces of one rank, or of
 * none, are processes of one run. Any file that cannot be read or merged is an error, and nothing
 * is written.
 */
#ifndef PROFILER_COMMANDS_FROM_H
#define PROFILER_COMMANDS_FROM_H

#include "profiler/commands/options.h"
#include "profiler/run/inherited.h"

/* Returns the exit status, after logging any error. */
int from(const struct options *options, const struct inherited *inherited);

#endif
