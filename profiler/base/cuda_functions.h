/* SPDX-License-Identifier: MIT */
/*
 * Names and numbers the functions of CUDA's runtime and driver that are probed.
 *
 * These functions launch work, wait for the GPU, or allocate and free memory (which may wait for
 * the GPU). Entries of functions that launch kernels or graphs are reported as launches. All
 * functions can be timed where there is no GPU time.
 *
 * A library has several variants of one function: versions ("_v2"), and variants for the per-thread
 * default stream ("_ptsz", "_ptds"). All variants share one number. A launch shows the name that
 * the program calls, so the "_ptsz" variant of a launch function sets CUDA_FUNCTION_PTSZ.
 */
#ifndef PROFILER_BASE_CUDA_FUNCTIONS_H
#define PROFILER_BASE_CUDA_FUNCTIONS_H

#include <stdbool.h>
#include <stdint.h>

#define CUDA_FUNCTION_NONE 0
#define CUDA_FUNCTION_PTSZ 0x100

/* Returns the number of the function with this symbol, or CUDA_FUNCTION_NONE. */
uint16_t cuda_function_of(const char *symbol);

/* Returns the number of the launch function with exactly this name, or CUDA_FUNCTION_NONE. */
uint16_t cuda_launch_function_of(const char *symbol);

/*
 * Returns true for a function of the runtime that launches, waits, copies, sets or allocates.
 * Functions that create graph nodes count too.
 */
bool cuda_function_is_runtime(const char *symbol);

/*
 * Returns the function's name for a frame: "cudaMemcpyAsync", "cuLaunchKernelEx_ptsz". Never NULL.
 */
const char *cuda_function_name(uint16_t number);

/* Returns true for a function of the driver, false for one of the runtime. */
bool cuda_function_is_driver(uint16_t number);

/*
 * Returns the DWARF register (System V ABI) of the parameter that holds the kernel's host function.
 * Returns -1 if the function has no such parameter (cuda_runtime_api.h).
 */
int cuda_function_kernel_register(uint16_t number);

#endif
