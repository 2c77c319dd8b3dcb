/* SPDX-License-Identifier: MIT */
/*
 * The part of CUDA's driver API that the fake libcuda exports and the workloads call, declared here
 * so that neither needs the CUDA headers. Functions return a CUresult, an int here.
 */
#ifndef TESTS_FAKE_CUDA_CUDA_DRIVER_SUBSET_H
#define TESTS_FAKE_CUDA_CUDA_DRIVER_SUBSET_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fake_cuda_context *CUcontext;
typedef struct fake_cuda_stream *CUstream;
typedef struct fake_cuda_function *CUfunction;
typedef struct fake_cuda_module *CUmodule;
typedef struct fake_cuda_graph_exec *CUgraphExec;
typedef struct fake_cuda_launch_config CUlaunchConfig;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct CUarray_st *CUarray;

typedef enum CUmemorytype_enum {
	CU_MEMORYTYPE_HOST = 1,
	CU_MEMORYTYPE_DEVICE = 2,
	CU_MEMORYTYPE_ARRAY = 3,
	CU_MEMORYTYPE_UNIFIED = 4,
} CUmemorytype;

typedef struct CUDA_MEMCPY2D_st {
	size_t srcXInBytes, srcY;
	CUmemorytype srcMemoryType;
	const void *srcHost;
	CUdeviceptr srcDevice;
	CUarray srcArray;
	size_t srcPitch;
	size_t dstXInBytes, dstY;
	CUmemorytype dstMemoryType;
	void *dstHost;
	CUdeviceptr dstDevice;
	CUarray dstArray;
	size_t dstPitch;
	size_t WidthInBytes, Height;
} CUDA_MEMCPY2D;

int cuInit(unsigned int flags);
int cuDriverGetVersion(int *version);
int cuDeviceGetCount(int *count);
int cuDeviceGet(CUdevice *device, int ordinal);
int cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device);
int cuCtxSetCurrent(CUcontext context);
int cuCtxGetCurrent(CUcontext *context);
int cuCtxSynchronize(void);
int cuStreamCreate(CUstream *stream, unsigned int flags);
int cuStreamDestroy_v2(CUstream stream);
int cuStreamSynchronize(CUstream stream);
int cuModuleLoadData(CUmodule *module, const void *image);
int cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name);
int cuModuleUnload(CUmodule module);
int cuGetErrorString(int error, const char **string);
int cuGetErrorName(int error, const char **string);
int cuGetProcAddress_v2(const char *symbol, void **function, int version, uint64_t flags,
			int *status);

#define CUDA_LAUNCH_PARAMETERS                                                                 \
	CUfunction f, unsigned int gx, unsigned int gy, unsigned int gz, unsigned int bx,      \
		unsigned int by, unsigned int bz, unsigned int shared_memory, CUstream stream, \
		void **params
int cuLaunchKernel(CUDA_LAUNCH_PARAMETERS, void **extra);
int cuLaunchKernel_ptsz(CUDA_LAUNCH_PARAMETERS, void **extra);
int cuLaunchKernelNext(CUDA_LAUNCH_PARAMETERS, void **extra);
int cuLaunchCooperativeKernel(CUDA_LAUNCH_PARAMETERS);
int cuLaunchCooperativeKernel_ptsz(CUDA_LAUNCH_PARAMETERS);
int cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction f, void **params, void **extra);
int cuLaunchKernelEx_ptsz(const CUlaunchConfig *config, CUfunction f, void **params, void **extra);
int cuDeviceGetGraphMemAttribute(CUdevice device, int attribute, void *value);
int cuDeviceGraphMemTrim(CUdevice device);
typedef struct CUmemPoolHandle_st *CUmemoryPool;
int cuDeviceGetDefaultMemPool(CUmemoryPool *pool, CUdevice device);
int cuMemPoolTrimTo(CUmemoryPool pool, size_t keep);
int cuMemPoolGetAttribute(CUmemoryPool pool, int attribute, void *value);
int cuGraphLaunch(CUgraphExec exec, CUstream stream);
int cuGraphLaunch_ptsz(CUgraphExec exec, CUstream stream);

/* CUmemAllocationProp */
enum { CU_MEM_ALLOCATION_TYPE_PINNED = 1, CU_MEM_LOCATION_TYPE_DEVICE = 1 };
typedef struct CUmemAllocationProp_st {
	int type, requestedHandleTypes;
	struct {
		int type, id;
	} location;
	void *win32HandleMetaData;
	unsigned char allocFlags[8];
} CUmemAllocationProp;

int cuMemGetAllocationGranularity(size_t *size, const CUmemAllocationProp *prop, int option);
int cuMemCreate(unsigned long long *handle, size_t size, const CUmemAllocationProp *prop,
		unsigned long long flags);
int cuMemRelease(unsigned long long handle);
int cuMemRetainAllocationHandle(unsigned long long *handle, void *address);
int cuMemAddressReserve(CUdeviceptr *address, size_t size, size_t alignment, CUdeviceptr wanted,
			unsigned long long flags);
int cuMemAddressFree(CUdeviceptr address, size_t size);
int cuMemMap(CUdeviceptr address, size_t size, size_t offset, unsigned long long handle,
	     unsigned long long flags);
int cuMemUnmap(CUdeviceptr address, size_t size);

int cuMemAlloc_v2(CUdeviceptr *address, size_t size);
int cuMemFree_v2(CUdeviceptr address);
int cuMemAllocHost_v2(void **memory, size_t size);
int cuMemFreeHost(void *memory);
int cuMemAllocAsync(CUdeviceptr *address, size_t size, CUstream stream);
int cuMemAllocAsync_ptsz(CUdeviceptr *address, size_t size, CUstream stream);
int cuMemFreeAsync(CUdeviceptr address, CUstream stream);
int cuMemFreeAsync_ptsz(CUdeviceptr address, CUstream stream);

int cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t size);
int cuMemcpyHtoD_v2_ptds(CUdeviceptr to, const void *from, size_t size);
int cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t size, CUstream stream);
int cuMemcpyHtoDAsync_v4(CUdeviceptr to, const void *from, size_t size, CUstream stream);
typedef struct CUmemDecompressParams_st {
	size_t srcNumBytes, dstNumBytes;
	unsigned int *dstActBytes;
	const void *src;
	void *dst;
	int algo;
	unsigned char padding[20];
} CUmemDecompressParams;
int cuMemBatchDecompressAsync(CUmemDecompressParams *params, size_t count, unsigned int options,
			      size_t *error_index, CUstream stream);
int cuTransformAsync(CUdeviceptr to, unsigned char value, size_t n, CUstream stream);
int cuMemcpyHtoDAsync_v2_ptsz(CUdeviceptr to, const void *from, size_t size, CUstream stream);
int cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t size);
int cuMemcpyDtoH_v2_ptds(void *to, CUdeviceptr from, size_t size);
int cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t size, CUstream stream);
int cuMemcpyDtoHAsync_v2_ptsz(void *to, CUdeviceptr from, size_t size, CUstream stream);
int cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t size);
int cuMemcpyDtoD_v2_ptds(CUdeviceptr to, CUdeviceptr from, size_t size);
int cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream);
int cuMemcpyDtoDAsync_v2_ptsz(CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream);
int cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t size);
int cuMemcpy_ptds(CUdeviceptr to, CUdeviceptr from, size_t size);
int cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream);
int cuMemcpyAsync_ptsz(CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream);
int cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D *copy);
int cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *copy, CUstream stream);
int cuMemcpyPeer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
		 size_t size);
int cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
		      CUcontext from_context, size_t size, CUstream stream);

int cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t n);
int cuMemsetD8_v2_ptds(CUdeviceptr to, unsigned char value, size_t n);
int cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t n, CUstream stream);
int cuMemsetD8Async_ptsz(CUdeviceptr to, unsigned char value, size_t n, CUstream stream);
int cuMemsetD32_v2(CUdeviceptr to, unsigned int value, size_t n);
int cuMemsetD32Async(CUdeviceptr to, unsigned int value, size_t n, CUstream stream);

#ifdef __cplusplus
}
#endif
#endif
