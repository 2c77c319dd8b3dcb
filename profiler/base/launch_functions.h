/* SPDX-License-Identifier: MIT */
/*
 * CUDA's launch entry points by name and number (enum launch_function of bpf/stack_event.h, with
 * LAUNCH_PTSZ for the per-thread default stream twins).
 */
#ifndef PROFILER_BASE_LAUNCH_FUNCTIONS_H
#define PROFILER_BASE_LAUNCH_FUNCTIONS_H

#include <stdint.h>

/* The function's name, as a frame: "cudaLaunchKernel", "cuLaunchKernelEx_ptsz". Never NULL. */
const char *launch_function_name(uint16_t launch_function);

/* The number of the function with this symbol, or LAUNCH_NONE. */
uint16_t launch_function_of(const char *symbol);

#endif
