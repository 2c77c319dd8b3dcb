/* SPDX-License-Identifier: MIT */
/* Names the kinds of GPU work, for frames and for the report. */
#ifndef PROFILER_MODEL_WORK_NAMES_H
#define PROFILER_MODEL_WORK_NAMES_H

#include "cupti_trace/wire/gpu_work.h"

/*
 * Returns the frame, "[GPU_Memcpy HtoD]", or just "[GPU_Kernel]" for kernels. Never NULL; one
 * address per kind.
 */
const char *work_frame(unsigned int work);

/* Returns the frame for an enum memory_kind (memory_use.h): "[GPU_Alloc pinned host]". */
const char *work_allocation_frame(unsigned int kind);

/* Returns a word such as "memcpy HtoD". */
const char *work_word(unsigned int work);

#endif
