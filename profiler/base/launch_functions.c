// SPDX-License-Identifier: MIT
#include "profiler/base/launch_functions.h"

#include <string.h>
#include "bpf/stack_event.h"

#define NAMES(symbol)                  \
	{                              \
		symbol, symbol "_ptsz" \
	}

static const char *const names[LAUNCH_FUNCTIONS][2] = {
	[LAUNCH_CUDA_KERNEL] = NAMES("cudaLaunchKernel"),
	[LAUNCH_CUDA_KERNEL_EXC] = NAMES("cudaLaunchKernelExC"),
	[LAUNCH_CUDA_COOPERATIVE_KERNEL] = NAMES("cudaLaunchCooperativeKernel"),
	[LAUNCH_CUDA_GRAPH] = NAMES("cudaGraphLaunch"),
	[LAUNCH_CU_KERNEL] = NAMES("cuLaunchKernel"),
	[LAUNCH_CU_KERNEL_EX] = NAMES("cuLaunchKernelEx"),
	[LAUNCH_CU_COOPERATIVE_KERNEL] = NAMES("cuLaunchCooperativeKernel"),
	[LAUNCH_CU_GRAPH] = NAMES("cuGraphLaunch"),
};

const char *launch_function_name(uint16_t launch_function)
{
	uint16_t f = launch_function & 0xff;

	if (f == LAUNCH_NONE || f >= LAUNCH_FUNCTIONS)
		return "[unknown launch function]";
	return names[f][launch_function & LAUNCH_PTSZ ? 1 : 0];
}

uint16_t launch_function_of(const char *symbol)
{
	if (symbol[0] != 'c' || symbol[1] != 'u')
		return LAUNCH_NONE;
	for (uint16_t f = LAUNCH_NONE + 1; f < LAUNCH_FUNCTIONS; f++) {
		if (strcmp(symbol, names[f][0]) == 0)
			return f;
		if (strcmp(symbol, names[f][1]) == 0)
			return f | LAUNCH_PTSZ;
	}
	return LAUNCH_NONE;
}
