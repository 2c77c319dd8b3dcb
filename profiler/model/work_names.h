/* SPDX-License-Identifier: MIT */
/* Names of the kinds of GPU work: for frames of a profile, and for the report. */
#ifndef PROFILER_MODEL_WORK_NAMES_H
#define PROFILER_MODEL_WORK_NAMES_H

#include "cupti_trace/wire/gpu_work.h"

/*
 * "[GPU_Memcpy HtoD]"; for kernels only the prefix "[GPU_Kernel]". Never NULL; one address per
 * kind.
 */
const char *work_frame(unsigned int work);

/* "[GPU_Alloc pinned host]": of enum memory_kind (memory_use.h). */
const char *work_allocation_frame(unsigned int kind);

/* "memcpy HtoD" */
const char *work_word(unsigned int work);

#endif
