/* SPDX-License-Identifier: MIT */
/*
 * The functions of the stand-ins that have callbacks, and CUPTI's ids of them. Those above
 * CUDA 13.0's (806 of the driver) are made up.
 */
#ifndef TESTS_FAKE_CUDA_CBID_H
#define TESTS_FAKE_CUDA_CBID_H

#include "../../cupti_trace/core/cupti_abi.h"

/* clang-format off */
#define FAKE_RUNTIME_FUNCTIONS(X) \
	X(cudaGetDeviceCount, 3) \
	X(cudaGetLastError, 10) \
	X(cudaPeekAtLastError, 11) \
	X(cudaSetDevice, 16) \
	X(cudaGetDevice, 17) \
	X(cudaMalloc, 20) \
	X(cudaFree, 22) \
	X(cudaMallocHost, 25) \
	X(cudaFreeHost, 26) \
	X(cudaMemcpy, 31) \
	X(cudaMemcpy2D, 32) \
	X(cudaMemcpyAsync, 41) \
	X(cudaMemcpy2DAsync, 44) \
	X(cudaMemset, 49) \
	X(cudaMemsetAsync, 51) \
	X(cudaStreamCreate, 129) \
	X(cudaStreamSynchronize, 131) \
	X(cudaEventCreate, 133) \
	X(cudaEventRecord, 135) \
	X(cudaEventDestroy, 136) \
	X(cudaEventSynchronize, 137) \
	X(cudaStreamWaitEvent, 147) \
	X(cudaDeviceCanAccessPeer, 154) \
	X(cudaDeviceEnablePeerAccess, 155) \
	X(cudaMemcpyPeer, 160) \
	X(cudaMemcpyPeerAsync, 161) \
	X(cudaProfilerStart, 72) \
	X(cudaProfilerStop, 73) \
	X(cudaDeviceReset, 164) \
	X(cudaDeviceSynchronize, 165) \
	X(cudaStreamCreateWithFlags, 198) \
	X(cudaStreamDestroy, 201) \
	X(cudaLaunchKernel, 211) \
	X(cudaLaunchKernel_ptsz, 214) \
	X(cudaMemcpy_ptds, 215) \
	X(cudaMemcpyAsync_ptsz, 225) \
	X(cudaMemset_ptds, 233) \
	X(cudaMemsetAsync_ptsz, 235) \
	X(cudaStreamSynchronize_ptsz, 239) \
	X(cudaLaunchCooperativeKernel, 269) \
	X(cudaLaunchCooperativeKernel_ptsz, 270) \
	X(cudaGraphCreate, 286) \
	X(cudaGraphAddKernelNode, 289) \
	X(cudaGraphAddMemsetNode, 293) \
	X(cudaGraphAddChildGraphNode, 298) \
	X(cudaGraphClone, 301) \
	X(cudaGraphLaunch, 311) \
	X(cudaGraphLaunch_ptsz, 312) \
	X(cudaGraphExecDestroy, 313) \
	X(cudaGraphDestroy, 314) \
	X(cudaStreamBeginCapture, 315) \
	X(cudaStreamEndCapture, 319) \
	X(cudaGraphExecUpdate, 335) \
	X(cudaGraphAddMemcpyNode1D, 352) \
	X(cudaMallocAsync, 373) \
	X(cudaMallocAsync_ptsz, 374) \
	X(cudaFreeAsync, 375) \
	X(cudaFreeAsync_ptsz, 376) \
	X(cudaLaunchKernelExC, 430) \
	X(cudaLaunchKernelExC_ptsz, 431) \
	X(cudaGraphInstantiate, 443) \
	X(cudaStreamBeginCaptureToGraph, 452) \
	X(cudaGraphConditionalHandleCreate, 454) \
	X(cudaGraphAddNode, 460) \
	X(cudaStreamGetCaptureInfo, 461) \
	X(cudaStreamUpdateCaptureDependencies, 463) \
	X(cudaEventElapsedTime, 486)

#define FAKE_DRIVER_FUNCTIONS(X) \
	X(cuInit, 1) \
	X(cuDeviceGet, 3) \
	X(cuDeviceGetCount, 4) \
	X(cuCtxSynchronize, 17) \
	X(cuModuleLoadData, 19) \
	X(cuModuleUnload, 22) \
	X(cuModuleGetFunction, 23) \
	X(cuMemFreeHost, 38) \
	X(cuEventRecord, 119) \
	X(cuEventSynchronize, 121) \
	X(cuStreamCreate, 124) \
	X(cuStreamSynchronize, 126) \
	X(cuMemsetD8Async, 216) \
	X(cuMemsetD32Async, 220) \
	X(cuMemAlloc_v2, 243) \
	X(cuMemFree_v2, 245) \
	X(cuMemsetD8_v2, 249) \
	X(cuMemsetD32_v2, 251) \
	X(cuMemcpyHtoD_v2, 276) \
	X(cuMemcpyHtoDAsync_v2, 277) \
	X(cuMemcpyDtoH_v2, 278) \
	X(cuMemcpyDtoHAsync_v2, 279) \
	X(cuMemcpyDtoD_v2, 280) \
	X(cuMemcpyDtoDAsync_v2, 281) \
	X(cuMemcpy2DUnaligned_v2, 288) \
	X(cuMemcpy2DAsync_v2, 289) \
	X(cuMemAllocHost_v2, 294) \
	X(cuStreamWaitEvent, 295) \
	X(cuCtxSetCurrent, 303) \
	X(cuCtxGetCurrent, 304) \
	X(cuMemcpy, 305) \
	X(cuMemcpyAsync, 306) \
	X(cuLaunchKernel, 307) \
	X(cuMemcpyPeer, 318) \
	X(cuMemcpyPeerAsync, 319) \
	X(cuStreamDestroy_v2, 326) \
	X(cuDevicePrimaryCtxRetain, 386) \
	X(cuMemcpyHtoD_v2_ptds, 397) \
	X(cuMemcpyDtoH_v2_ptds, 398) \
	X(cuMemcpyDtoD_v2_ptds, 399) \
	X(cuMemcpy_ptds, 408) \
	X(cuMemsetD8_v2_ptds, 411) \
	X(cuMemcpyAsync_ptsz, 418) \
	X(cuMemcpyHtoDAsync_v2_ptsz, 421) \
	X(cuMemcpyDtoHAsync_v2_ptsz, 422) \
	X(cuMemcpyDtoDAsync_v2_ptsz, 423) \
	X(cuMemsetD8Async_ptsz, 428) \
	X(cuLaunchKernel_ptsz, 442) \
	X(cuLaunchCooperativeKernel, 477) \
	X(cuLaunchCooperativeKernel_ptsz, 478) \
	X(cuGraphAddMemcpyNode, 504) \
	X(cuGraphAddMemsetNode, 506) \
	X(cuGraphLaunch, 514) \
	X(cuGraphLaunch_ptsz, 515) \
	X(cuGraphClone, 523) \
	X(cuGraphAddChildGraphNode, 525) \
	X(cuMemAddressReserve, 547) \
	X(cuMemAddressFree, 548) \
	X(cuMemCreate, 549) \
	X(cuMemRelease, 550) \
	X(cuMemMap, 551) \
	X(cuMemUnmap, 552) \
	X(cuMemGetAllocationGranularity, 556) \
	X(cuMemRetainAllocationHandle, 565) \
	X(cuMemAllocAsync, 598) \
	X(cuMemAllocAsync_ptsz, 599) \
	X(cuMemFreeAsync, 600) \
	X(cuMemFreeAsync_ptsz, 601) \
	X(cuMemPoolTrimTo, 602) \
	X(cuMemPoolGetAttribute, 604) \
	X(cuDeviceGetDefaultMemPool, 606) \
	X(cuDeviceGraphMemTrim, 640) \
	X(cuDeviceGetGraphMemAttribute, 641) \
	X(cuGraphInstantiateWithFlags, 643) \
	X(cuLaunchKernelEx, 652) \
	X(cuLaunchKernelEx_ptsz, 653) \
	X(cuGraphAddKernelNode_v2, 689) \
	X(cuGraphExecUpdate_v2, 696) \
	X(cuGraphAddNode_v2, 723) \
	X(cuMemBatchDecompressAsync, 761) \
	X(cuLaunchKernelNext, 810) \
	X(cuMemcpyHtoDAsync_v4, 811) \
	X(cuTransformAsync, 812)
/* clang-format on */

enum {
#define X(name, id) FAKE_RT_##name = id,
	FAKE_RUNTIME_FUNCTIONS(X)
#undef X
#define X(name, id) FAKE_DRV_##name = id,
		FAKE_DRIVER_FUNCTIONS(X)
#undef X

			FAKE_RESOURCE_STREAM_CREATED = 3,
	FAKE_RESOURCE_STREAM_DESTROY_STARTING = 4,
	FAKE_RESOURCE_CU_INIT_FINISHED = 5,
	FAKE_RESOURCE_SIZE = 24,
};

#endif
