// SPDX-License-Identifier: MIT
#include "profiler/base/cuda_functions.h"

#include <stdlib.h>
#include <string.h>
#include "symbolize/util/text.h"

#define STREAM_TWIN "_ptsz"

enum { NO_REGISTER = -1, RSI = 4, RDI = 5 }; /* DWARF numbers of the second and first parameter */

/* Recordings store positions in this table: append only. */
static const struct {
	const char *name, *twin;
	int kernel_register;
} launches[] = {
	{"cudaLaunchKernel", "cudaLaunchKernel" STREAM_TWIN, RDI},
	{"cudaLaunchKernelExC", "cudaLaunchKernelExC" STREAM_TWIN, RSI},
	{"cudaLaunchCooperativeKernel", "cudaLaunchCooperativeKernel" STREAM_TWIN, RDI},
	{"cudaGraphLaunch", "cudaGraphLaunch" STREAM_TWIN, NO_REGISTER},
	{"cuLaunchKernel", "cuLaunchKernel" STREAM_TWIN, NO_REGISTER},
	{"cuLaunchKernelEx", "cuLaunchKernelEx" STREAM_TWIN, NO_REGISTER},
	{"cuLaunchCooperativeKernel", "cuLaunchCooperativeKernel" STREAM_TWIN, NO_REGISTER},
	{"cuGraphLaunch", "cuGraphLaunch" STREAM_TWIN, NO_REGISTER},
};
#define LAUNCHES (sizeof(launches) / sizeof(launches[0]))

/*
 * Sorted by strcmp for bsearch. Taken from cuda_runtime_api.h and cuda.h of CUDA 13.0, and of 11.8.
 */
static const char *const others[] = {
	"cuCtxSynchronize",
	"cuEventSynchronize",
	"cuGraphExecUpdate",
	"cuGraphInstantiate",
	"cuGraphInstantiateWithFlags",
	"cuGraphInstantiateWithParams",
	"cuGraphUpload",
	"cuLaunch",
	"cuLaunchCooperativeKernelMultiDevice",
	"cuLaunchGrid",
	"cuLaunchGridAsync",
	"cuLaunchHostFunc",
	"cuMemAlloc",
	"cuMemAllocAsync",
	"cuMemAllocFromPoolAsync",
	"cuMemAllocHost",
	"cuMemAllocManaged",
	"cuMemAllocPitch",
	"cuMemFree",
	"cuMemFreeAsync",
	"cuMemFreeHost",
	"cuMemHostAlloc",
	"cuMemHostRegister",
	"cuMemHostUnregister",
	"cuMemPrefetchAsync",
	"cuMemPrefetchBatchAsync",
	"cuMemcpy",
	"cuMemcpy2D",
	"cuMemcpy2DAsync",
	"cuMemcpy2DUnaligned",
	"cuMemcpy3D",
	"cuMemcpy3DAsync",
	"cuMemcpy3DBatchAsync",
	"cuMemcpy3DPeer",
	"cuMemcpy3DPeerAsync",
	"cuMemcpyAsync",
	"cuMemcpyAtoA",
	"cuMemcpyAtoD",
	"cuMemcpyAtoH",
	"cuMemcpyAtoHAsync",
	"cuMemcpyBatchAsync",
	"cuMemcpyDtoA",
	"cuMemcpyDtoD",
	"cuMemcpyDtoDAsync",
	"cuMemcpyDtoH",
	"cuMemcpyDtoHAsync",
	"cuMemcpyHtoA",
	"cuMemcpyHtoAAsync",
	"cuMemcpyHtoD",
	"cuMemcpyHtoDAsync",
	"cuMemcpyPeer",
	"cuMemcpyPeerAsync",
	"cuMemsetD16",
	"cuMemsetD16Async",
	"cuMemsetD2D16",
	"cuMemsetD2D16Async",
	"cuMemsetD2D32",
	"cuMemsetD2D32Async",
	"cuMemsetD2D8",
	"cuMemsetD2D8Async",
	"cuMemsetD32",
	"cuMemsetD32Async",
	"cuMemsetD8",
	"cuMemsetD8Async",
	"cuStreamSynchronize",
	"cudaDeviceSynchronize",
	"cudaEventSynchronize",
	"cudaFree",
	"cudaFreeArray",
	"cudaFreeAsync",
	"cudaFreeHost",
	"cudaFreeMipmappedArray",
	"cudaGraphExecUpdate",
	"cudaGraphInstantiate",
	"cudaGraphInstantiateWithFlags",
	"cudaGraphInstantiateWithParams",
	"cudaGraphUpload",
	"cudaHostAlloc",
	"cudaHostRegister",
	"cudaHostUnregister",
	"cudaLaunchCooperativeKernelMultiDevice",
	"cudaLaunchHostFunc",
	"cudaMalloc",
	"cudaMalloc3D",
	"cudaMalloc3DArray",
	"cudaMallocArray",
	"cudaMallocAsync",
	"cudaMallocFromPoolAsync",
	"cudaMallocHost",
	"cudaMallocManaged",
	"cudaMallocMipmappedArray",
	"cudaMallocPitch",
	"cudaMemPrefetchAsync",
	"cudaMemPrefetchBatchAsync",
	"cudaMemcpy",
	"cudaMemcpy2D",
	"cudaMemcpy2DArrayToArray",
	"cudaMemcpy2DAsync",
	"cudaMemcpy2DFromArray",
	"cudaMemcpy2DFromArrayAsync",
	"cudaMemcpy2DToArray",
	"cudaMemcpy2DToArrayAsync",
	"cudaMemcpy3D",
	"cudaMemcpy3DAsync",
	"cudaMemcpy3DBatchAsync",
	"cudaMemcpy3DPeer",
	"cudaMemcpy3DPeerAsync",
	"cudaMemcpyArrayToArray",
	"cudaMemcpyAsync",
	"cudaMemcpyBatchAsync",
	"cudaMemcpyFromArray",
	"cudaMemcpyFromArrayAsync",
	"cudaMemcpyFromSymbol",
	"cudaMemcpyFromSymbolAsync",
	"cudaMemcpyPeer",
	"cudaMemcpyPeerAsync",
	"cudaMemcpyToArray",
	"cudaMemcpyToArrayAsync",
	"cudaMemcpyToSymbol",
	"cudaMemcpyToSymbolAsync",
	"cudaMemset",
	"cudaMemset2D",
	"cudaMemset2DAsync",
	"cudaMemset3D",
	"cudaMemset3DAsync",
	"cudaMemsetAsync",
	"cudaStreamSynchronize",
	"cudaThreadSynchronize",
};
#define OTHERS (sizeof(others) / sizeof(others[0]))
#define LONGEST 64

_Static_assert(LAUNCHES + OTHERS < CUDA_FUNCTION_PTSZ, "the bit is no number's");

const char *cuda_function_name(uint16_t number)
{
	uint16_t n = number & ~CUDA_FUNCTION_PTSZ;

	if (n >= 1 && n <= LAUNCHES)
		return number & CUDA_FUNCTION_PTSZ ? launches[n - 1].twin : launches[n - 1].name;
	if (number > LAUNCHES && number <= LAUNCHES + OTHERS)
		return others[number - LAUNCHES - 1];
	return "[unknown CUDA function]";
}

bool cuda_function_is_driver(uint16_t number)
{
	return !starts_with(cuda_function_name(number), "cuda");
}

int cuda_function_kernel_register(uint16_t number)
{
	uint16_t n = number & ~CUDA_FUNCTION_PTSZ;

	return n >= 1 && n <= LAUNCHES ? launches[n - 1].kernel_register : NO_REGISTER;
}

uint16_t cuda_launch_function_of(const char *symbol)
{
	if (symbol[0] != 'c' || symbol[1] != 'u')
		return CUDA_FUNCTION_NONE;
	for (uint16_t i = 0; i < LAUNCHES; i++) {
		if (strcmp(symbol, launches[i].name) == 0)
			return i + 1;
		if (strcmp(symbol, launches[i].twin) == 0)
			return (i + 1) | CUDA_FUNCTION_PTSZ;
	}
	return CUDA_FUNCTION_NONE;
}

static void cut_end(char *name, const char *end)
{
	size_t length = strlen(name), n = strlen(end);

	if (length > n && strcmp(name + length - n, end) == 0)
		name[length - n] = '\0';
}

/* Removes a suffix "_v2" or "_v12". */
static void cut_version(char *name)
{
	size_t length = strlen(name), at = length;

	while (at > 0 && name[at - 1] >= '0' && name[at - 1] <= '9')
		at--;
	if (at < length && at > 2 && name[at - 1] == 'v' && name[at - 2] == '_')
		name[at - 2] = '\0';
}

static int compare(const void *key, const void *element)
{
	return strcmp(key, *(const char *const *)element);
}

uint16_t cuda_function_of(const char *symbol)
{
	const char *const *found;
	char name[LONGEST];

	if (symbol[0] != 'c' || symbol[1] != 'u' || strlen(symbol) >= sizeof(name))
		return CUDA_FUNCTION_NONE;
	memcpy(name, symbol, strlen(symbol) + 1);
	cut_end(name, STREAM_TWIN);
	cut_end(name, "_ptds");
	cut_version(name);
	found = bsearch(name, others, OTHERS, sizeof(others[0]), compare);
	return found ? (uint16_t)(LAUNCHES + (size_t)(found - others) + 1)
		     : cuda_launch_function_of(name);
}

bool cuda_function_is_runtime(const char *symbol)
{
	return starts_with(symbol, "cuda") &&
	       (cuda_function_of(symbol) || starts_with(symbol, "cudaGraphAdd") ||
		starts_with(symbol, "cudaGraphClone"));
}
