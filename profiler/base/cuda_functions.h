/* SPDX-License-Identifier: MIT */
/*
 * The functions of CUDA's runtime and driver that are probed, by name and number: those that
 * launch work, wait for the GPU, or allocate and free memory (which may wait for it). Some of them
 * launch kernels or graphs: their entries are reported as launches. All can be timed where there is
 * no GPU time.
 *
 * A library has several variants of one function: of older and newer parameters ("_v2"), and for
 * the per-thread default stream ("_ptsz", "_ptds"). They have one number. A launch shows the name
 * that the program calls: the number of a launch function's "_ptsz" twin has CUDA_FUNCTION_PTSZ
 * set.
 */
#ifndef PROFILER_BASE_CUDA_FUNCTIONS_H
#define PROFILER_BASE_CUDA_FUNCTIONS_H

#include <stdbool.h>
#include <stdint.h>

#define CUDA_FUNCTION_NONE 0
#define CUDA_FUNCTION_PTSZ 0x100

/* The number of the function with this symbol, or CUDA_FUNCTION_NONE. All variants have one. */
uint16_t cuda_function_of(const char *symbol);

/* The number of the launch function or twin of this very name, or CUDA_FUNCTION_NONE. */
uint16_t cuda_launch_function_of(const char *symbol);

/*
 * Returns whether this is the name of a function of the runtime that launches, waits, copies, sets,
 * allocates, or makes nodes of graphs.
 */
bool cuda_function_is_runtime(const char *symbol);

/* The function's name, as a frame: "cudaMemcpyAsync", "cuLaunchKernelEx_ptsz". Never NULL. */
const char *cuda_function_name(uint16_t number);

/*
 * Returns whether it is the driver's, which the runtime's functions call; else it is the runtime's.
 */
bool cuda_function_is_driver(uint16_t number);

/*
 * Which parameter of the function is the kernel's function on the host (cuda_runtime_api.h): its
 * DWARF register by the System V ABI, or -1 where there is none.
 */
int cuda_function_kernel_register(uint16_t number);

#endif
