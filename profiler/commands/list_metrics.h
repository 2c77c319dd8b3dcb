/* SPDX-License-Identifier: MIT */
/*
 * --list-metrics: prints the metrics of hardware counters that a GPU has, one in each line: name,
 * type, unit, description. Lines that begin with # say what is appended to names of each type.
 *
 * Done as the user that sudo was called by: CUPTI and the driver are loaded.
 */
#ifndef PROFILER_COMMANDS_LIST_METRICS_H
#define PROFILER_COMMANDS_LIST_METRICS_H

#include "profiler/commands/options.h"

/* An exit status; errors are explained on stderr. */
int list_metrics(const struct options *options);

#endif
