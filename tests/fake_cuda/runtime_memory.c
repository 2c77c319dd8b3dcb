/* SPDX-License-Identifier: MIT */
/* Memory in the fake runtime: each call makes the driver's, nested in its own API call. */
#include "runtime.h"
#include "cbid.h"
#include "cuda_driver_subset.h"

#include <stdint.h>

static CUdeviceptr address(const void *memory)
{
	return (uintptr_t)memory;
}

static cudaError_t allocate(const struct fake_cuda_driver *driver, void **memory, size_t size)
{
	CUdeviceptr allocated = 0;
	cudaError_t err;

	if (!memory)
		return cudaErrorInvalidValue;
	err = size ? driver->memory->allocate(&allocated, size) : cudaSuccess;
	if (!err)
		*memory = (void *)(uintptr_t)allocated;
	return err;
}

CUDART_EXPORT cudaError_t cudaMalloc(void **memory, size_t size)
{
	struct {
		void **memory;
		size_t size;
	} params = {memory, size};
	RUNTIME_CALL("cudaMalloc", FAKE_RT_cudaMalloc, allocate(driver, memory, size));
}

CUDART_EXPORT cudaError_t cudaFree(void *memory)
{
	struct {
		void *memory;
	} params = {memory};
	RUNTIME_CALL("cudaFree", FAKE_RT_cudaFree,
		     memory ? driver->memory->release(address(memory)) : cudaSuccess);
}

static cudaError_t allocate_host(const struct fake_cuda_driver *driver, void **memory, size_t size)
{
	if (!memory)
		return cudaErrorInvalidValue;
	if (size)
		return driver->memory->allocate_host(memory, size);
	*memory = NULL;
	return cudaSuccess;
}

CUDART_EXPORT cudaError_t cudaMallocHost(void **memory, size_t size)
{
	struct {
		void **memory;
		size_t size;
	} params = {memory, size};
	RUNTIME_CALL("cudaMallocHost", FAKE_RT_cudaMallocHost, allocate_host(driver, memory, size));
}

CUDART_EXPORT cudaError_t cudaFreeHost(void *memory)
{
	struct {
		void *memory;
	} params = {memory};
	RUNTIME_CALL("cudaFreeHost", FAKE_RT_cudaFreeHost,
		     memory ? driver->memory->release_host(memory) : cudaSuccess);
}

static cudaError_t allocate_async(const struct fake_cuda_driver *driver, void **memory, size_t size,
				  cudaStream_t stream, int per_thread)
{
	CUdeviceptr allocated = 0;
	cudaError_t err;

	if (!memory)
		return cudaErrorInvalidValue;
	err = size ? driver->memory->allocate_async[per_thread](&allocated, size, stream)
		   : cudaSuccess;
	if (!err)
		*memory = (void *)(uintptr_t)allocated;
	return err;
}

static cudaError_t release_async(const struct fake_cuda_driver *driver, void *memory,
				 cudaStream_t stream, int per_thread)
{
	if (!memory)
		return cudaSuccess;
	return driver->memory->release_async[per_thread](address(memory), stream);
}

#define ALLOCATE_ASYNC(api, per_thread)                                                 \
	CUDART_EXPORT cudaError_t api(void **memory, size_t size, cudaStream_t stream)  \
	{                                                                               \
		struct {                                                                \
			void **memory;                                                  \
			size_t size;                                                    \
			cudaStream_t stream;                                            \
		} params = {memory, size, stream};                                      \
		RUNTIME_CALL(#api, FAKE_RT_##api,                                       \
			     allocate_async(driver, memory, size, stream, per_thread)); \
	}

#define RELEASE_ASYNC(api, per_thread)                                           \
	CUDART_EXPORT cudaError_t api(void *memory, cudaStream_t stream)         \
	{                                                                        \
		struct {                                                         \
			void *memory;                                            \
			cudaStream_t stream;                                     \
		} params = {memory, stream};                                     \
		RUNTIME_CALL(#api, FAKE_RT_##api,                                \
			     release_async(driver, memory, stream, per_thread)); \
	}

ALLOCATE_ASYNC(cudaMallocAsync, 0)
ALLOCATE_ASYNC(cudaMallocAsync_ptsz, 1)
RELEASE_ASYNC(cudaFreeAsync, 0)
RELEASE_ASYNC(cudaFreeAsync_ptsz, 1)

static cudaError_t copy(const struct fake_cuda_memory_calls *m, void *to, const void *from,
			size_t size, enum cudaMemcpyKind kind, int per_thread)
{
	switch (kind) {
	case cudaMemcpyHostToDevice:
		return m->htod[per_thread](address(to), from, size);
	case cudaMemcpyDeviceToHost:
		return m->dtoh[per_thread](to, address(from), size);
	case cudaMemcpyDeviceToDevice:
		return m->dtod[per_thread](address(to), address(from), size);
	case cudaMemcpyHostToHost:
	case cudaMemcpyDefault:
		return m->any[per_thread](address(to), address(from), size);
	}
	return cudaErrorInvalidMemcpyDirection;
}

static cudaError_t copy_async(const struct fake_cuda_memory_calls *m, void *to, const void *from,
			      size_t size, enum cudaMemcpyKind kind, cudaStream_t stream,
			      int per_thread)
{
	switch (kind) {
	case cudaMemcpyHostToDevice:
		return m->htod_async[per_thread](address(to), from, size, stream);
	case cudaMemcpyDeviceToHost:
		return m->dtoh_async[per_thread](to, address(from), size, stream);
	case cudaMemcpyDeviceToDevice:
		return m->dtod_async[per_thread](address(to), address(from), size, stream);
	case cudaMemcpyHostToHost:
	case cudaMemcpyDefault:
		return m->any_async[per_thread](address(to), address(from), size, stream);
	}
	return cudaErrorInvalidMemcpyDirection;
}

#define COPY(api, per_thread)                                                         \
	CUDART_EXPORT cudaError_t api(void *to, const void *from, size_t size,        \
				      enum cudaMemcpyKind kind)                       \
	{                                                                             \
		struct {                                                              \
			void *to;                                                     \
			const void *from;                                             \
			size_t size;                                                  \
			enum cudaMemcpyKind kind;                                     \
		} params = {to, from, size, kind};                                    \
		RUNTIME_CALL(#api, FAKE_RT_##api,                                     \
			     copy(driver->memory, to, from, size, kind, per_thread)); \
	}

#define COPY_ASYNC(api, per_thread)                                                            \
	CUDART_EXPORT cudaError_t api(void *to, const void *from, size_t size,                 \
				      enum cudaMemcpyKind kind, cudaStream_t stream)           \
	{                                                                                      \
		struct {                                                                       \
			void *to;                                                              \
			const void *from;                                                      \
			size_t size;                                                           \
			enum cudaMemcpyKind kind;                                              \
			cudaStream_t stream;                                                   \
		} params = {to, from, size, kind, stream};                                     \
		RUNTIME_CALL(                                                                  \
			#api, FAKE_RT_##api,                                                   \
			copy_async(driver->memory, to, from, size, kind, stream, per_thread)); \
	}

COPY(cudaMemcpy, 0)
COPY(cudaMemcpy_ptds, 1)
COPY_ASYNC(cudaMemcpyAsync, 0)
COPY_ASYNC(cudaMemcpyAsync_ptsz, 1)

struct rectangle {
	void *to;
	size_t to_pitch;
	const void *from;
	size_t from_pitch, width, height;
	enum cudaMemcpyKind kind;
	cudaStream_t stream;
};

/* The driver's parameters for a rectangle. */
static cudaError_t describe(CUDA_MEMCPY2D *c, const struct rectangle *r)
{
	static const CUmemorytype to[] = {CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_DEVICE,
					  CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_DEVICE,
					  CU_MEMORYTYPE_UNIFIED};
	static const CUmemorytype from[] = {CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_HOST,
					    CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_DEVICE,
					    CU_MEMORYTYPE_UNIFIED};

	if ((unsigned int)r->kind > cudaMemcpyDefault)
		return cudaErrorInvalidMemcpyDirection;
	if (r->to_pitch < r->width || r->from_pitch < r->width)
		return cudaErrorInvalidPitchValue;
	*c = (CUDA_MEMCPY2D){
		.srcMemoryType = from[r->kind],
		.srcHost = r->from,
		.srcDevice = address(r->from),
		.srcPitch = r->from_pitch,
		.dstMemoryType = to[r->kind],
		.dstHost = r->to,
		.dstDevice = address(r->to),
		.dstPitch = r->to_pitch,
		.WidthInBytes = r->width,
		.Height = r->height,
	};
	return cudaSuccess;
}

static cudaError_t copy_2d(const struct fake_cuda_driver *driver, const struct rectangle *r,
			   bool async)
{
	CUDA_MEMCPY2D c;
	cudaError_t err = describe(&c, r);

	if (err)
		return err;
	return async ? driver->memory->copy_2d_async(&c, r->stream) : driver->memory->copy_2d(&c);
}

CUDART_EXPORT cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from,
				       size_t from_pitch, size_t width, size_t height,
				       enum cudaMemcpyKind kind)
{
	struct rectangle params = {to, to_pitch, from, from_pitch, width, height, kind, NULL};
	RUNTIME_CALL("cudaMemcpy2D", FAKE_RT_cudaMemcpy2D, copy_2d(driver, &params, false));
}

CUDART_EXPORT cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from,
					    size_t from_pitch, size_t width, size_t height,
					    enum cudaMemcpyKind kind, cudaStream_t stream)
{
	struct rectangle params = {to, to_pitch, from, from_pitch, width, height, kind, stream};
	RUNTIME_CALL("cudaMemcpy2DAsync", FAKE_RT_cudaMemcpy2DAsync,
		     copy_2d(driver, &params, true));
}

static cudaError_t can_access(const struct fake_cuda_driver *driver, int *can, int device, int peer)
{
	int devices = 0;

	driver->device_count(&devices);
	if (!can)
		return FAKE_CUDA_ERROR_INVALID_VALUE;
	if (device < 0 || device >= devices || peer < 0 || peer >= devices)
		return FAKE_CUDA_ERROR_INVALID_DEVICE;
	*can = device != peer;
	return 0;
}

CUDART_EXPORT cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer)
{
	struct {
		int *can;
		int device, peer;
	} params = {can, device, peer};
	RUNTIME_CALL("cudaDeviceCanAccessPeer", FAKE_RT_cudaDeviceCanAccessPeer,
		     can_access(driver, can, device, peer));
}

CUDART_EXPORT cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned int flags)
{
	struct {
		int peer;
		unsigned int flags;
	} params = {peer, flags};
	RUNTIME_CALL("cudaDeviceEnablePeerAccess", FAKE_RT_cudaDeviceEnablePeerAccess,
		     flags ? FAKE_CUDA_ERROR_INVALID_VALUE : driver->enable_peer(peer));
}

struct peer {
	void *to;
	int to_device;
	const void *from;
	int from_device;
	size_t size;
	cudaStream_t stream;
};

static cudaError_t copy_peer(const struct fake_cuda_driver *driver, const struct peer *p,
			     bool async)
{
	CUcontext to = driver->context(p->to_device), from = driver->context(p->from_device);

	if (!to || !from)
		return FAKE_CUDA_ERROR_INVALID_DEVICE;
	if (async)
		return driver->memory->peer_async(address(p->to), to, address(p->from), from,
						  p->size, p->stream);
	return driver->memory->peer(address(p->to), to, address(p->from), from, p->size);
}

CUDART_EXPORT cudaError_t cudaMemcpyPeer(void *to, int to_device, const void *from, int from_device,
					 size_t size)
{
	struct peer params = {to, to_device, from, from_device, size, NULL};
	RUNTIME_CALL("cudaMemcpyPeer", FAKE_RT_cudaMemcpyPeer, copy_peer(driver, &params, false));
}

CUDART_EXPORT cudaError_t cudaMemcpyPeerAsync(void *to, int to_device, const void *from,
					      int from_device, size_t size, cudaStream_t stream)
{
	struct peer params = {to, to_device, from, from_device, size, stream};
	RUNTIME_CALL("cudaMemcpyPeerAsync", FAKE_RT_cudaMemcpyPeerAsync,
		     copy_peer(driver, &params, true));
}

#define SET(api, per_thread)                                                                     \
	CUDART_EXPORT cudaError_t api(void *to, int value, size_t size)                          \
	{                                                                                        \
		struct {                                                                         \
			void *to;                                                                \
			int value;                                                               \
			size_t size;                                                             \
		} params = {to, value, size};                                                    \
		RUNTIME_CALL(#api, FAKE_RT_##api,                                                \
			     driver->memory->set8[per_thread](address(to), (unsigned char)value, \
							      size));                            \
	}

#define SET_ASYNC(api, per_thread)                                                           \
	CUDART_EXPORT cudaError_t api(void *to, int value, size_t size, cudaStream_t stream) \
	{                                                                                    \
		struct {                                                                     \
			void *to;                                                            \
			int value;                                                           \
			size_t size;                                                         \
			cudaStream_t stream;                                                 \
		} params = {to, value, size, stream};                                        \
		RUNTIME_CALL(#api, FAKE_RT_##api,                                            \
			     driver->memory->set8_async[per_thread](                         \
				     address(to), (unsigned char)value, size, stream));      \
	}

SET(cudaMemset, 0)
SET(cudaMemset_ptds, 1)
SET_ASYNC(cudaMemsetAsync, 0)
SET_ASYNC(cudaMemsetAsync_ptsz, 1)
