/* SPDX-License-Identifier: MIT */
/*
 * What kinds of GPU work are called: as frames of a profile, and in the report.
 */
#ifndef PROFILER_PROFILE_WORK_NAMES_H
#define PROFILER_PROFILE_WORK_NAMES_H

#include "cupti_trace/gpu_work.h"

/* "[GPU_Memcpy HtoD]"; of kernels only the prefix "[GPU_Kernel]". Never NULL; one address a kind.
 */
const char *work_frame(unsigned int work);

/* "memcpy HtoD" */
const char *work_word(unsigned int work);

#endif
