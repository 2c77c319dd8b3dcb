/* SPDX-License-Identifier: MIT */
/*
 * Loads the injection library into the profiler itself, for its metric list (metric_list.h). The
 * library is mapped from memory; no file is written.
 */
#ifndef PROFILER_RUN_METRIC_LIBRARY_H
#define PROFILER_RUN_METRIC_LIBRARY_H

#include "cupti_trace/hw/metric_list.h"

/* Returns the library's list function. Returns NULL after writing the reason to `error`. */
metric_list_function *metric_library_load(char error[METRIC_LIST_ERROR_BYTES]);

#endif
