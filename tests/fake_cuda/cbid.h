/* SPDX-License-Identifier: MIT */
/* CUPTI callback ids that only the stand-ins need; the launches' are in cupti_trace/cupti_abi.h. */
#ifndef TESTS_FAKE_CUDA_CBID_H
#define TESTS_FAKE_CUDA_CBID_H

#include "../../cupti_trace/cupti_abi.h"

enum {
	FAKE_RT_cudaGetDeviceCount = 3,
	FAKE_RT_cudaGetLastError = 10,
	FAKE_RT_cudaSetDevice = 16,
	FAKE_RT_cudaGetDevice = 17,
	FAKE_RT_cudaMalloc = 20,
	FAKE_RT_cudaFree = 22,
	FAKE_RT_cudaMemcpy = 31,
	FAKE_RT_cudaStreamCreate = 129,
	FAKE_RT_cudaStreamSynchronize = 131,
	FAKE_RT_cudaEventCreate = 133,
	FAKE_RT_cudaEventRecord = 135,
	FAKE_RT_cudaEventDestroy = 136,
	FAKE_RT_cudaEventSynchronize = 137,
	FAKE_RT_cudaDeviceSynchronize = 165,
	FAKE_RT_cudaStreamCreateWithFlags = 198,
	FAKE_RT_cudaStreamDestroy = 201,
	FAKE_RT_cudaGraphExecDestroy = 313,
	FAKE_RT_cudaGraphDestroy = 314,
	FAKE_RT_cudaStreamBeginCapture = 315,
	FAKE_RT_cudaStreamEndCapture = 319,
	FAKE_RT_cudaGraphInstantiate = 443,
	FAKE_RT_cudaEventElapsedTime = 486,
	FAKE_RT_SIZE = 523,

	FAKE_DRV_cuInit = 1,
	FAKE_DRV_cuDeviceGet = 3,
	FAKE_DRV_cuDeviceGetCount = 4,
	FAKE_DRV_cuModuleLoadData = 19,
	FAKE_DRV_cuModuleUnload = 22,
	FAKE_DRV_cuModuleGetFunction = 23,
	FAKE_DRV_cuStreamCreate = 124,
	FAKE_DRV_cuStreamSynchronize = 126,
	FAKE_DRV_cuCtxSetCurrent = 303,
	FAKE_DRV_cuCtxGetCurrent = 304,
	FAKE_DRV_cuStreamDestroy_v2 = 326,
	FAKE_DRV_cuCtxSynchronize = 17,
	FAKE_DRV_cuDevicePrimaryCtxRetain = 386,
	FAKE_DRV_SIZE = 807,

	FAKE_RESOURCE_STREAM_CREATED = 3,
	FAKE_RESOURCE_STREAM_DESTROY_STARTING = 4,
	FAKE_RESOURCE_CU_INIT_FINISHED = 5,
	FAKE_RESOURCE_MODULE_UNLOAD_STARTING = 7,
	FAKE_RESOURCE_GRAPHNODE_CREATED = 13,
	FAKE_RESOURCE_GRAPHEXEC_CREATED = 18,
	FAKE_RESOURCE_GRAPHNODE_CLONED = 20,
	FAKE_RESOURCE_SIZE = 24,
};

#endif
