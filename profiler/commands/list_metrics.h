/* SPDX-License-Identifier: MIT */
/*
 * Prints the metrics of hardware counters that a GPU has: --list-counters.
 *
 * Each line has name, type, unit and description. Lines that begin with # list the suffixes for
 * names of each type. The process becomes the user who called sudo, since it loads CUPTI and the
 * driver.
 */
#ifndef PROFILER_COMMANDS_LIST_METRICS_H
#define PROFILER_COMMANDS_LIST_METRICS_H

#include "profiler/commands/options.h"

/* Returns the exit status, after explaining errors on stderr. */
int list_metrics(const struct options *options);

#endif
