/* SPDX-License-Identifier: MIT */
/* Names of the kinds of GPU work: for frames of a profile, and for the report. */
#ifndef PROFILER_PROFILE_WORK_NAMES_H
#define PROFILER_PROFILE_WORK_NAMES_H

#include "cupti_trace/gpu_work.h"

/*
 * "[GPU_Memcpy HtoD]"; for kernels only the prefix "[GPU_Kernel]". Never NULL; one address per
 * kind.
 */
const char *work_frame(unsigned int work);

/* "memcpy HtoD" */
const char *work_word(unsigned int work);

#endif
