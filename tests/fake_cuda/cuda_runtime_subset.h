/* SPDX-License-Identifier: MIT */
/*
 * The part of CUDA's runtime API that the fake libcudart exports and the workloads call, declared
 * here so that neither needs the CUDA headers. Binary compatible with CUDA 13 for these calls.
 *
 * A kernel is a host function that exists for its address, registered under a device name with
 * __cudaRegisterFunction, as in nvcc's generated code.
 */
#ifndef TESTS_FAKE_CUDA_CUDA_RUNTIME_SUBSET_H
#define TESTS_FAKE_CUDA_CUDA_RUNTIME_SUBSET_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef int cudaError_t;
enum {
	cudaSuccess = 0,
	cudaErrorInvalidValue = 1,
	cudaErrorMemoryAllocation = 2,
	cudaErrorInitializationError = 3,
	cudaErrorInvalidConfiguration = 9,
	cudaErrorInvalidPitchValue = 12,
	cudaErrorInvalidMemcpyDirection = 21,
	cudaErrorInsufficientDriver = 35,
	cudaErrorInvalidDeviceFunction = 98,
	cudaErrorInvalidResourceHandle = 400,
	cudaErrorNotReady = 600,
	cudaErrorStreamCaptureUnsupported = 900,
	cudaErrorGraphExecUpdateFailure = 910,
};

enum cudaMemcpyKind {
	cudaMemcpyHostToHost,
	cudaMemcpyHostToDevice,
	cudaMemcpyDeviceToHost,
	cudaMemcpyDeviceToDevice,
	cudaMemcpyDefault,
};

enum cudaStreamCaptureMode {
	cudaStreamCaptureModeGlobal,
	cudaStreamCaptureModeThreadLocal,
	cudaStreamCaptureModeRelaxed,
};

enum { cudaStreamDefault = 0, cudaStreamNonBlocking = 1 };

struct dim3 {
	unsigned int x, y, z;
#ifdef __cplusplus
	dim3(unsigned int vx = 1, unsigned int vy = 1, unsigned int vz = 1) : x(vx), y(vy), z(vz)
	{
	}
#endif
};
#ifndef __cplusplus
typedef struct dim3 dim3;
#endif

typedef struct fake_cuda_stream *cudaStream_t;
typedef struct fake_cuda_event *cudaEvent_t;
typedef struct fake_cuda_graph *cudaGraph_t;
typedef struct fake_cuda_graph_exec *cudaGraphExec_t;
typedef struct fake_cuda_graph_node *cudaGraphNode_t;

struct cudaKernelNodeParams {
	void *func;
	dim3 gridDim, blockDim;
	unsigned int sharedMemBytes;
	void **kernelParams, **extra;
};

struct cudaMemsetParams {
	void *dst;
	size_t pitch;
	unsigned int value, elementSize;
	size_t width, height; /* elements, rows */
};

typedef unsigned long long cudaGraphConditionalHandle;
enum cudaGraphConditionalHandleFlags { cudaGraphCondAssignDefault = 1 };
enum cudaGraphConditionalNodeType {
	cudaGraphCondTypeIf,
	cudaGraphCondTypeWhile,
	cudaGraphCondTypeSwitch,
};
enum cudaGraphNodeType { cudaGraphNodeTypeKernel = 0, cudaGraphNodeTypeConditional = 13 };
enum cudaStreamCaptureStatus { cudaStreamCaptureStatusNone, cudaStreamCaptureStatusActive };
typedef struct cudaGraphEdgeData_st cudaGraphEdgeData;

struct cudaConditionalNodeParams {
	cudaGraphConditionalHandle handle;
	enum cudaGraphConditionalNodeType type;
	unsigned int size;
	cudaGraph_t *phGraph_out;
};

struct cudaGraphNodeParams {
	enum cudaGraphNodeType type;
	int reserved0[3];
	union {
		long long reserved1[29];
		struct cudaConditionalNodeParams conditional;
	};
	long long reserved2;
};

enum cudaGraphExecUpdateResult {
	cudaGraphExecUpdateSuccess,
	cudaGraphExecUpdateError,
	cudaGraphExecUpdateErrorTopologyChanged,
	cudaGraphExecUpdateErrorNodeTypeChanged,
};

typedef struct cudaGraphExecUpdateResultInfo_st {
	enum cudaGraphExecUpdateResult result;
	cudaGraphNode_t errorNode, errorFromNode;
} cudaGraphExecUpdateResultInfo;

typedef struct cudaLaunchConfig_st {
	dim3 gridDim, blockDim;
	size_t dynamicSmemBytes;
	cudaStream_t stream;
	void *attrs;
	unsigned int numAttrs;
} cudaLaunchConfig_t;

cudaError_t cudaGetDeviceCount(int *count);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetDevice(int *device);
cudaError_t cudaDeviceSynchronize(void);
cudaError_t cudaProfilerStart(void);
cudaError_t cudaProfilerStop(void);
cudaError_t cudaDeviceReset(void);
cudaError_t cudaGetLastError(void);
cudaError_t cudaPeekAtLastError(void);
const char *cudaGetErrorString(cudaError_t error);
const char *cudaGetErrorName(cudaError_t error);

cudaError_t cudaMalloc(void **memory, size_t size);
cudaError_t cudaFree(void *memory);
cudaError_t cudaMallocHost(void **memory, size_t size);
cudaError_t cudaFreeHost(void *memory);
cudaError_t cudaMallocAsync(void **memory, size_t size, cudaStream_t stream);
cudaError_t cudaMallocAsync_ptsz(void **memory, size_t size, cudaStream_t stream);
cudaError_t cudaFreeAsync(void *memory, cudaStream_t stream);
cudaError_t cudaFreeAsync_ptsz(void *memory, cudaStream_t stream);

cudaError_t cudaMemcpy(void *to, const void *from, size_t size, enum cudaMemcpyKind kind);
cudaError_t cudaMemcpy_ptds(void *to, const void *from, size_t size, enum cudaMemcpyKind kind);
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t size, enum cudaMemcpyKind kind,
			    cudaStream_t stream);
cudaError_t cudaMemcpyAsync_ptsz(void *to, const void *from, size_t size, enum cudaMemcpyKind kind,
				 cudaStream_t stream);
cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch,
			 size_t width, size_t height, enum cudaMemcpyKind kind);
cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch,
			      size_t width, size_t height, enum cudaMemcpyKind kind,
			      cudaStream_t stream);
cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer);
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned int flags);
cudaError_t cudaMemcpyPeer(void *to, int to_device, const void *from, int from_device, size_t size);
cudaError_t cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device,
				size_t size, cudaStream_t stream);
cudaError_t cudaMemset(void *to, int value, size_t size);
cudaError_t cudaMemset_ptds(void *to, int value, size_t size);
cudaError_t cudaMemsetAsync(void *to, int value, size_t size, cudaStream_t stream);
cudaError_t cudaMemsetAsync_ptsz(void *to, int value, size_t size, cudaStream_t stream);

cudaError_t cudaStreamCreate(cudaStream_t *stream);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned int flags);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);

cudaError_t cudaEventCreate(cudaEvent_t *event);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags);
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end);

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph,
				 unsigned long long flags);
cudaError_t cudaGraphCreate(cudaGraph_t *graph, unsigned int flags);
cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t *node, cudaGraph_t graph,
				   const cudaGraphNode_t *dependencies, size_t count,
				   const struct cudaKernelNodeParams *kernel);
cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t *node, cudaGraph_t graph,
				     const cudaGraphNode_t *dependencies, size_t count, void *to,
				     const void *from, size_t size, enum cudaMemcpyKind kind);
cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t *node, cudaGraph_t graph,
				   const cudaGraphNode_t *dependencies, size_t count,
				   const struct cudaMemsetParams *set);
cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t *node, cudaGraph_t graph,
				       const cudaGraphNode_t *dependencies, size_t count,
				       cudaGraph_t child);
cudaError_t cudaGraphConditionalHandleCreate(cudaGraphConditionalHandle *handle, cudaGraph_t graph,
					     unsigned int value, unsigned int flags);
cudaError_t cudaGraphAddNode(cudaGraphNode_t *node, cudaGraph_t graph,
			     const cudaGraphNode_t *dependencies, const cudaGraphEdgeData *edges,
			     size_t count, struct cudaGraphNodeParams *params);
cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph,
					  const cudaGraphNode_t *dependencies,
					  const cudaGraphEdgeData *edges, size_t count,
					  enum cudaStreamCaptureMode mode);
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
				     unsigned long long *id, cudaGraph_t *graph,
				     const cudaGraphNode_t **dependencies,
				     const cudaGraphEdgeData **edges, size_t *count);
cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t *dependencies,
						const cudaGraphEdgeData *edges, size_t count,
						unsigned int flags);
cudaError_t cudaGraphClone(cudaGraph_t *clone, cudaGraph_t graph);
cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph,
				cudaGraphExecUpdateResultInfo *info);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec);
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream);
cudaError_t cudaGraphLaunch_ptsz(cudaGraphExec_t exec, cudaStream_t stream);

#define CUDA_RUNTIME_LAUNCH_PARAMETERS                                              \
	const void *func, dim3 grid, dim3 block, void **args, size_t shared_memory, \
		cudaStream_t stream
cudaError_t cudaLaunchKernel(CUDA_RUNTIME_LAUNCH_PARAMETERS);
cudaError_t cudaLaunchKernel_ptsz(CUDA_RUNTIME_LAUNCH_PARAMETERS);
cudaError_t cudaLaunchCooperativeKernel(CUDA_RUNTIME_LAUNCH_PARAMETERS);
cudaError_t cudaLaunchCooperativeKernel_ptsz(CUDA_RUNTIME_LAUNCH_PARAMETERS);
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *func, void **args);
cudaError_t cudaLaunchKernelExC_ptsz(const cudaLaunchConfig_t *config, const void *func,
				     void **args);

/*
 * Functions that nvcc's generated host code calls. A fat binary that begins with
 * FAKE_CUDA_FATBIN_MAGIC promises that the first argument of each of its kernels is its duration
 * (uint64_t, ns); kernels of any other last FAKE_CUDA_KERNEL_NS.
 */
#define FAKE_CUDA_FATBIN_MAGIC 0x46414b45u
void **__cudaRegisterFatBinary(void *fatbin);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaUnregisterFatBinary(void **handle);
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
			    int thread_limit, void *tid, void *bid, void *block, void *grid,
			    int *warp);
unsigned int __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_memory, void *stream);
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared_memory,
				       void *stream);
cudaError_t __cudaGetKernel(const void **kernel, const void *func);
cudaError_t __cudaLaunchKernel(CUDA_RUNTIME_LAUNCH_PARAMETERS);
cudaError_t __cudaLaunchKernel_ptsz(CUDA_RUNTIME_LAUNCH_PARAMETERS);
char __cudaInitModule(void **handle);

#ifdef __cplusplus
}
#endif
#endif
