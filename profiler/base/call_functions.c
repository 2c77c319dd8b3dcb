// SPDX-License-Identifier: MIT
#include "profiler/base/call_functions.h"

#include <stdlib.h>
#include <string.h>

/* In order (strcmp). From cuda_runtime_api.h and cuda.h of CUDA 13.0, and what 11.8 has besides. */
static const char *const names[] = {
	"cuCtxSynchronize",
	"cuEventSynchronize",
	"cuGraphExecUpdate",
	"cuGraphInstantiate",
	"cuGraphInstantiateWithFlags",
	"cuGraphInstantiateWithParams",
	"cuGraphLaunch",
	"cuGraphUpload",
	"cuLaunch",
	"cuLaunchCooperativeKernel",
	"cuLaunchCooperativeKernelMultiDevice",
	"cuLaunchGrid",
	"cuLaunchGridAsync",
	"cuLaunchHostFunc",
	"cuLaunchKernel",
	"cuLaunchKernelEx",
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
	"cudaGraphLaunch",
	"cudaGraphUpload",
	"cudaHostAlloc",
	"cudaHostRegister",
	"cudaHostUnregister",
	"cudaLaunchCooperativeKernel",
	"cudaLaunchCooperativeKernelMultiDevice",
	"cudaLaunchHostFunc",
	"cudaLaunchKernel",
	"cudaLaunchKernelExC",
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
#define NAMES (sizeof(names) / sizeof(names[0]))
#define LONGEST 64

const char *call_function_name(uint16_t number)
{
	return number >= 1 && number <= NAMES ? names[number - 1] : "[unknown CUDA function]";
}

int call_function_kernel_register(uint16_t number)
{
	enum { RSI = 4, RDI = 5 }; /* DWARF's numbers of the second and the first parameter */
	const char *name = call_function_name(number);

	if (strcmp(name, "cudaLaunchKernel") == 0 ||
	    strcmp(name, "cudaLaunchCooperativeKernel") == 0)
		return RDI;
	return strcmp(name, "cudaLaunchKernelExC") == 0 ? RSI : -1;
}

static void cut_end(char *name, const char *end)
{
	size_t length = strlen(name), n = strlen(end);

	if (length > n && strcmp(name + length - n, end) == 0)
		name[length - n] = '\0';
}

/* "_v2", "_v12" */
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

uint16_t call_function_of(const char *symbol)
{
	const char *const *found;
	char name[LONGEST];

	if (symbol[0] != 'c' || symbol[1] != 'u' || strlen(symbol) >= sizeof(name))
		return CALL_FUNCTION_NONE;
	memcpy(name, symbol, strlen(symbol) + 1);
	cut_end(name, "_ptsz");
	cut_end(name, "_ptds");
	cut_version(name);
	found = bsearch(name, names, NAMES, sizeof(names[0]), compare);
	return found ? (uint16_t)(found - names + 1) : CALL_FUNCTION_NONE;
}
