/* SPDX-License-Identifier: MIT */
/*
 * The injection library within the profiler itself, for what it knows of metrics (metric_list.h).
 * It is mapped from memory: no file is written.
 */
#ifndef PROFILER_RUN_METRIC_LIBRARY_H
#define PROFILER_RUN_METRIC_LIBRARY_H

#include "cupti_trace/hw/metric_list.h"

/* NULL after putting the reason into `error`. */
metric_list_function *metric_library_load(char error[METRIC_LIST_ERROR_BYTES]);

#endif
