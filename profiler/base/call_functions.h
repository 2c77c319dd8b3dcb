/* SPDX-License-Identifier: MIT */
/*
 * The functions of CUDA's runtime and driver whose calls are timed where GPU time is not to be had:
 * those that give the GPU work, that wait for it, and that allocate and free memory (which may wait
 * for it). By name and number.
 *
 * A library has several variants of one function: of older and newer parameters ("_v2"), and for
 * the per-thread default stream ("_ptsz", "_ptds"). They have one number and are shown as one.
 */
#ifndef PROFILER_BASE_CALL_FUNCTIONS_H
#define PROFILER_BASE_CALL_FUNCTIONS_H

#include <stdint.h>

#define CALL_FUNCTION_NONE 0

/* The function's name, as a frame: "cudaMemcpyAsync". Never NULL. */
const char *call_function_name(uint16_t number);

/* The number of the function with this symbol, or CALL_FUNCTION_NONE. */
uint16_t call_function_of(const char *symbol);

/*
 * Which parameter of the function is the kernel's function on the host (cuda_runtime_api.h): its
 * DWARF register by the System V ABI, or -1 where there is none.
 */
int call_function_kernel_register(uint16_t number);

#endif
