/* SPDX-License-Identifier: MIT */
/*
 * Writes the outputs of a run that is over, from its capture: what `profile --from FILE` does.
 */
#ifndef PROFILER_COMMANDS_FROM_H
#define PROFILER_COMMANDS_FROM_H

#include "profiler/commands/options.h"
#include "profiler/session/inherited.h"

/* Returns the exit status, after logging any error. */
int from(const struct options *options, const struct inherited *inherited);

#endif
