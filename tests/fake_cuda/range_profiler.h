/* SPDX-License-Identifier: MIT */
/* The range profiler of the fake libcupti, as its other files see it. */
#ifndef TESTS_FAKE_CUDA_RANGE_PROFILER_H
#define TESTS_FAKE_CUDA_RANGE_PROFILER_H

#include "fake_cuda.h"
#include "../../cupti_trace/hw/profiler_abi.h"

/* An API call of the program. */
void range_profiler_call(const struct fake_cuda_call *call, uint32_t site);

/*
 * Work of the program. How many records of it there are: 1, but for kernels that are measured;
 * records of these have no times (seen with CUDA 13.0 on an H200).
 */
unsigned long range_profiler_run(struct fake_cuda_activity *activity);

#define FAKE_PROFILER_DECLARE(name, parameter, is_target) int name(parameter);
PROFILER_ABI_FUNCTIONS(FAKE_PROFILER_DECLARE)
#undef FAKE_PROFILER_DECLARE

#endif
