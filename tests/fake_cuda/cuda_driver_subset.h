/* SPDX-License-Identifier: MIT */
/*
 * The part of CUDA's driver API that the fake libcuda exports and the workloads call, declared
 * afresh so that neither needs the CUDA headers. Functions return a CUresult, an int here.
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
int cuLaunchCooperativeKernel(CUDA_LAUNCH_PARAMETERS);
int cuLaunchCooperativeKernel_ptsz(CUDA_LAUNCH_PARAMETERS);
int cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction f, void **params, void **extra);
int cuLaunchKernelEx_ptsz(const CUlaunchConfig *config, CUfunction f, void **params, void **extra);
int cuGraphLaunch(CUgraphExec exec, CUstream stream);
int cuGraphLaunch_ptsz(CUgraphExec exec, CUstream stream);

#ifdef __cplusplus
}
#endif
#endif
