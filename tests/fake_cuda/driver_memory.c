/* SPDX-License-Identifier: MIT */
/*
 * The entry points of the fake libcuda.so.1 that allocate, copy and set.
 *
 * Each exists twice, like launches (driver_launch.c): the runtime calls the unexported one with
 * FAKE_CUDA_INTERNAL_DRIVER_CALLS.
 */
#include "fake_driver.h"
#include "graph.h"
#include "cbid.h"
#include "cuda_driver_subset.h"

/* Flags of a call. */
enum { ASYNC = 1, PER_THREAD = 2 };

static void *pointer(CUdeviceptr address)
{
	return (void *)(uintptr_t)address;
}

/* Submits a part of a copy made on `stream` to a stream of the device that performs it. */
static int submit_part(struct fake_cuda_stream *stream, uint32_t device,
		       const struct gpu_work *work, uint64_t *end)
{
	struct fake_cuda_stream *part = stream;
	int err;

	if (gpu_place(gpu_stream_context(stream)).device_id != device)
		part = gpu_internal_stream((int)device);
	if (!part)
		return FAKE_CUDA_ERROR_OUT_OF_MEMORY;
	if (part == stream)
		return driver_submit(part, work, end);
	gpu_stream_wait(part, stream);
	err = driver_submit(part, work, end);
	gpu_stream_wait(stream, part);
	return err;
}

/*
 * A copy between two devices, as observed with CUPTI 13.0 on two H200: one by the source if it can
 * access the destination's memory, one by the destination if only it can access the source's;
 * without access it goes through host memory, in two copies between "host" and device with the same
 * correlation id, whose memory kinds are both those of device memory.
 */
static int submit_peer(struct fake_cuda_stream *stream, const struct gpu_work *work, uint64_t *end)
{
	uint32_t from = work->activity.source.device_id, to = work->activity.destination.device_id;
	struct gpu_work half = *work;
	int err;

	if (*gpu_stream_capture(stream) || gpu_peer_enabled((int)from, (int)to))
		return submit_part(stream, from, work, end);
	if (gpu_peer_enabled((int)to, (int)from))
		return submit_part(stream, to, work, end);
	half.activity.copy_kind = CUPTI_ABI_MEMCPY_DTOH;
	err = submit_part(stream, from, &half, end);
	half.activity.copy_kind = CUPTI_ABI_MEMCPY_HTOD;
	return err ? err : submit_part(stream, to, &half, end);
}

/*
 * Submit a copy or a set to its stream, and wait for it where CUDA does: in calls that are not
 * asynchronous and between device and host, and for writes to pageable memory.
 */
static int submit(const struct gpu_work *work, CUstream stream, int flags)
{
	const struct fake_cuda_activity *a = &work->activity;
	struct fake_cuda_stream *s = gpu_stream(stream, flags & PER_THREAD);
	bool wait = a->type == FAKE_CUDA_COPY && a->copy_kind != CUPTI_ABI_MEMCPY_DTOD &&
		    a->copy_kind != CUPTI_ABI_MEMCPY_PTOP;
	uint64_t end = 0;
	int err;

	if (flags & ASYNC)
		wait = a->copy_kind == CUPTI_ABI_MEMCPY_DTOH &&
		       a->destination_kind == CUPTI_ABI_MEMORY_PAGEABLE;
	if (!s)
		return FAKE_CUDA_ERROR_INVALID_HANDLE;
	if (!(flags & ASYNC) && *gpu_stream_capture(s))
		return FAKE_CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	err = a->type == FAKE_CUDA_COPY && a->copy_kind == CUPTI_ABI_MEMCPY_PTOP
		      ? submit_peer(s, work, &end)
		      : driver_submit(s, work, &end);
	if (!err && wait && end > gpu_now())
		gpu_sleep_until(end);
	return err;
}

static int copy(const struct gpu_bytes *bytes, enum memory_side to, enum memory_side from,
		CUstream stream, int flags)
{
	struct memory_copy c = {.bytes = *bytes, .to = to, .from = from, .async = flags & ASYNC};
	struct gpu_work work;
	int err;

	if (!gpu_current())
		return FAKE_CUDA_ERROR_INVALID_CONTEXT;
	if (!bytes->width || !bytes->height)
		return 0; /* no work, so no record */
	err = memory_copy_work(&work, &c);
	return err ? err : submit(&work, stream, flags);
}

static int copy_row(void *to, const void *from, size_t size, enum memory_side to_side,
		    enum memory_side from_side, CUstream stream, int flags)
{
	struct gpu_bytes bytes = {to, from, size, size, size, 1, 0};

	return copy(&bytes, to_side, from_side, stream, flags);
}

static int set_row(CUdeviceptr to, uint32_t value, size_t n, unsigned int value_size,
		   CUstream stream, int flags)
{
	struct gpu_bytes bytes = {pointer(to), NULL, n * value_size, 0, n, 1, value_size};
	struct gpu_work work;
	int err;

	if (!gpu_current())
		return FAKE_CUDA_ERROR_INVALID_CONTEXT;
	if (!n)
		return 0;
	err = memory_set_work(&work, &bytes, value, flags & ASYNC);
	return err ? err : submit(&work, stream, flags);
}

static int copy_2d(const CUDA_MEMCPY2D *c, CUstream stream, int flags)
{
	static const enum memory_side sides[] = {
		[CU_MEMORYTYPE_HOST] = MEMORY_ON_HOST,
		[CU_MEMORYTYPE_DEVICE] = MEMORY_ON_DEVICE,
		[CU_MEMORYTYPE_UNIFIED] = MEMORY_ANYWHERE,
	};
	struct gpu_bytes b;

	if (!c || c->srcMemoryType > CU_MEMORYTYPE_UNIFIED || !c->srcMemoryType ||
	    c->dstMemoryType > CU_MEMORYTYPE_UNIFIED || !c->dstMemoryType ||
	    c->srcMemoryType == CU_MEMORYTYPE_ARRAY || c->dstMemoryType == CU_MEMORYTYPE_ARRAY)
		return FAKE_CUDA_ERROR_INVALID_VALUE;
	b = (struct gpu_bytes){
		.to = c->dstMemoryType == CU_MEMORYTYPE_HOST ? c->dstHost : pointer(c->dstDevice),
		.from = c->srcMemoryType == CU_MEMORYTYPE_HOST ? c->srcHost : pointer(c->srcDevice),
		.to_pitch = c->dstPitch,
		.from_pitch = c->srcPitch,
		.width = c->WidthInBytes,
		.height = c->Height,
	};
	if (b.to_pitch < c->dstXInBytes + b.width || b.from_pitch < c->srcXInBytes + b.width)
		return FAKE_CUDA_ERROR_INVALID_VALUE;
	b.to = (char *)b.to + c->dstY * b.to_pitch + c->dstXInBytes;
	b.from = (const char *)b.from + c->srcY * b.from_pitch + c->srcXInBytes;
	return copy(&b, sides[c->dstMemoryType], sides[c->srcMemoryType], stream, flags);
}

/* The contexts must be those of the memory, which the addresses determine anyway. */
static int copy_peer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
		     size_t size, CUstream stream, int flags)
{
	if (!to_context || !from_context)
		return FAKE_CUDA_ERROR_INVALID_CONTEXT;
	return copy_row(pointer(to), pointer(from), size, MEMORY_ON_DEVICE, MEMORY_ON_DEVICE,
			stream, flags);
}

static int allocate(CUdeviceptr *address, size_t size)
{
	void *memory = NULL;
	int err = memory_allocate(address ? &memory : NULL, size, CUPTI_ABI_MEMORY_DEVICE, NULL);

	if (!err)
		*address = (uintptr_t)memory;
	return err;
}

/* Waits for the device's work, like NVIDIA's. */
static int release(CUdeviceptr address)
{
	int err;

	if (!address)
		return 0;
	err = gpu_device_idle();
	return err ? err : memory_release(pointer(address), CUPTI_ABI_MEMORY_DEVICE, NULL);
}

static int release_host(void *memory)
{
	return memory_release(memory, CUPTI_ABI_MEMORY_PINNED, NULL);
}

static int allocate_async(CUdeviceptr *address, size_t size, CUstream stream, int flags)
{
	struct fake_cuda_stream *s = gpu_stream(stream, flags & PER_THREAD);
	void *memory = NULL;
	int err;

	if (!address)
		return FAKE_CUDA_ERROR_INVALID_VALUE;
	if (!s)
		return FAKE_CUDA_ERROR_INVALID_HANDLE;
	if (*gpu_stream_capture(s))
		err = graph_capture_allocation(*gpu_stream_capture(s), &memory, size);
	else
		err = memory_allocate(&memory, size, CUPTI_ABI_MEMORY_DEVICE, s);
	if (!err)
		*address = (uintptr_t)memory;
	return err;
}

/* Bytes move when a call is made, so no work on the stream needs the memory any more. */
static int release_async(CUdeviceptr address, CUstream stream, int flags)
{
	struct fake_cuda_stream *s = gpu_stream(stream, flags & PER_THREAD);

	if (!s)
		return FAKE_CUDA_ERROR_INVALID_HANDLE;
	if (*gpu_stream_capture(s))
		return graph_capture_release(*gpu_stream_capture(s), pointer(address));
	return memory_release(pointer(address), CUPTI_ABI_MEMORY_DEVICE, s);
}

/* ---- entry points ---- */

#define UNPACK(...) __VA_ARGS__

/* `fields`: the parameter structure, as in CUPTI's generated headers. */
#define ENTRY(api, parameters, arguments, fields, expression) \
	static int internal_##api parameters                  \
	{                                                     \
		struct {                                      \
			fields                                \
		} params = {UNPACK arguments};                \
		DRIVER_CALL(api, expression);                 \
	}                                                     \
	FAKE_CUDA_EXPORT int api parameters                   \
	{                                                     \
		return internal_##api arguments;              \
	}

ENTRY(cuMemAlloc_v2, (CUdeviceptr * address, size_t size), (address, size), CUdeviceptr *address;
      size_t size;, allocate(address, size))
ENTRY(cuMemFree_v2, (CUdeviceptr address), (address), CUdeviceptr address;, release(address))
ENTRY(cuMemAllocHost_v2, (void **memory, size_t size), (memory, size), void **memory; size_t size;
      , memory_allocate(memory, size, CUPTI_ABI_MEMORY_PINNED, NULL))
ENTRY(cuMemFreeHost, (void *memory), (memory), void *memory;, release_host(memory))

#define ALLOCATE_ASYNC(api, flags)                                                                 \
	ENTRY(api, (CUdeviceptr * address, size_t size, CUstream stream), (address, size, stream), \
	      CUdeviceptr *address;                                                                \
	      size_t size; CUstream stream;, allocate_async(address, size, stream, flags))
#define RELEASE_ASYNC(api, flags)                                                                  \
	ENTRY(api, (CUdeviceptr address, CUstream stream), (address, stream), CUdeviceptr address; \
	      CUstream stream;, release_async(address, stream, flags))

ALLOCATE_ASYNC(cuMemAllocAsync, 0)
ALLOCATE_ASYNC(cuMemAllocAsync_ptsz, PER_THREAD)
RELEASE_ASYNC(cuMemFreeAsync, 0)
RELEASE_ASYNC(cuMemFreeAsync_ptsz, PER_THREAD)

#define COPY_SYNC(api, to_type, from_type, to_side, from_side, flags)                         \
	ENTRY(api, (to_type to, from_type from, size_t size), (to, from, size), to_type to;   \
	      from_type from; size_t size;                                                    \
	      , copy_row((void *)(uintptr_t)to, (const void *)(uintptr_t)from, size, to_side, \
			 from_side, NULL, flags))
#define COPY_ASYNC(api, to_type, from_type, to_side, from_side, flags)                        \
	ENTRY(api, (to_type to, from_type from, size_t size, CUstream stream),                \
	      (to, from, size, stream), to_type to;                                           \
	      from_type from; size_t size; CUstream stream;                                   \
	      , copy_row((void *)(uintptr_t)to, (const void *)(uintptr_t)from, size, to_side, \
			 from_side, stream, (flags) | ASYNC))

typedef const void *const_pointer;
typedef void *void_pointer;

#define COPY_FOUR(api, async_api, suffix, to_type, from_type, to_side, from_side)         \
	COPY_SYNC(api##suffix, to_type, from_type, to_side, from_side, 0)                 \
	COPY_SYNC(api##suffix##_ptds, to_type, from_type, to_side, from_side, PER_THREAD) \
	COPY_ASYNC(async_api##suffix, to_type, from_type, to_side, from_side, 0)          \
	COPY_ASYNC(async_api##suffix##_ptsz, to_type, from_type, to_side, from_side, PER_THREAD)

COPY_FOUR(cuMemcpyHtoD, cuMemcpyHtoDAsync, _v2, CUdeviceptr, const_pointer, MEMORY_ON_DEVICE,
	  MEMORY_ON_HOST)
COPY_FOUR(cuMemcpyDtoH, cuMemcpyDtoHAsync, _v2, void_pointer, CUdeviceptr, MEMORY_ON_HOST,
	  MEMORY_ON_DEVICE)
COPY_FOUR(cuMemcpyDtoD, cuMemcpyDtoDAsync, _v2, CUdeviceptr, CUdeviceptr, MEMORY_ON_DEVICE,
	  MEMORY_ON_DEVICE)
COPY_FOUR(cuMemcpy, cuMemcpyAsync, , CUdeviceptr, CUdeviceptr, MEMORY_ANYWHERE, MEMORY_ANYWHERE)

COPY_ASYNC(cuMemcpyHtoDAsync_v4, CUdeviceptr, const_pointer, MEMORY_ON_DEVICE, MEMORY_ON_HOST,
	   0) /* made up: of a newer CUDA */

#define SET_SYNC(api, type, flags)                                                         \
	ENTRY(api, (CUdeviceptr to, type value, size_t n), (to, value, n), CUdeviceptr to; \
	      type value; size_t n;, set_row(to, value, n, sizeof(type), NULL, flags))
#define SET_ASYNC(api, type, flags)                                         \
	ENTRY(api, (CUdeviceptr to, type value, size_t n, CUstream stream), \
	      (to, value, n, stream), CUdeviceptr to;                       \
	      type value; size_t n; CUstream stream;                        \
	      , set_row(to, value, n, sizeof(type), stream, (flags) | ASYNC))

SET_SYNC(cuMemsetD8_v2, unsigned char, 0)
SET_SYNC(cuMemsetD8_v2_ptds, unsigned char, PER_THREAD)
SET_SYNC(cuMemsetD32_v2, unsigned int, 0)
SET_ASYNC(cuMemsetD8Async, unsigned char, 0)
SET_ASYNC(cuMemsetD8Async_ptsz, unsigned char, PER_THREAD)
SET_ASYNC(cuMemsetD32Async, unsigned int, 0)
SET_ASYNC(cuTransformAsync, unsigned char, 0) /* made up: of a newer CUDA; CUPTI sees a set */

/* The decompressed bytes are zeros: one batch, one piece of work. */
static int decompress(const CUmemDecompressParams *p, size_t count, CUstream stream, int flags)
{
	struct gpu_bytes bytes;
	struct gpu_work work;
	uint64_t source = 0;
	int err;

	if (!gpu_current())
		return FAKE_CUDA_ERROR_INVALID_CONTEXT;
	if (!p || !count)
		return FAKE_CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < count; i++)
		source += p[i].srcNumBytes;
	bytes = (struct gpu_bytes){p->dst, NULL, p->dstNumBytes, 0, p->dstNumBytes, 1, 1};
	err = memory_set_work(&work, &bytes, 0, true);
	if (err)
		return err;
	work.activity.decompresses = true;
	work.activity.bytes = source;
	return submit(&work, stream, flags);
}

ENTRY(cuMemBatchDecompressAsync,
      (CUmemDecompressParams * p, size_t count, unsigned int options, size_t *error_index,
       CUstream stream),
      (p, count, options, error_index, stream), CUmemDecompressParams *p;
      size_t count; unsigned int options; size_t * error_index; CUstream stream;
      , decompress(p, count, stream, ASYNC))

ENTRY(cuMemcpy2DUnaligned_v2, (const CUDA_MEMCPY2D *c), (c), const CUDA_MEMCPY2D *c;
      , copy_2d(c, NULL, 0))
ENTRY(cuMemcpy2DAsync_v2, (const CUDA_MEMCPY2D *c, CUstream stream), (c, stream),
      const CUDA_MEMCPY2D *c;
      CUstream stream;, copy_2d(c, stream, ASYNC))
ENTRY(cuMemcpyPeer,
      (CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t size),
      (to, to_context, from, from_context, size), CUdeviceptr to;
      CUcontext to_context; CUdeviceptr from; CUcontext from_context; size_t size;
      , copy_peer(to, to_context, from, from_context, size, NULL, 0))
ENTRY(cuMemcpyPeerAsync,
      (CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t size,
       CUstream stream),
      (to, to_context, from, from_context, size, stream), CUdeviceptr to;
      CUcontext to_context; CUdeviceptr from; CUcontext from_context; size_t size; CUstream stream;
      , copy_peer(to, to_context, from, from_context, size, stream, ASYNC))

#define CALLS(prefix)                                                                              \
	{                                                                                          \
		.allocate = prefix##cuMemAlloc_v2, .release = prefix##cuMemFree_v2,                \
		.allocate_host = prefix##cuMemAllocHost_v2, .release_host = prefix##cuMemFreeHost, \
		.allocate_async = {prefix##cuMemAllocAsync, prefix##cuMemAllocAsync_ptsz},         \
		.release_async = {prefix##cuMemFreeAsync, prefix##cuMemFreeAsync_ptsz},            \
		.htod = {prefix##cuMemcpyHtoD_v2, prefix##cuMemcpyHtoD_v2_ptds},                   \
		.dtoh = {prefix##cuMemcpyDtoH_v2, prefix##cuMemcpyDtoH_v2_ptds},                   \
		.dtod = {prefix##cuMemcpyDtoD_v2, prefix##cuMemcpyDtoD_v2_ptds},                   \
		.any = {prefix##cuMemcpy, prefix##cuMemcpy_ptds},                                  \
		.htod_async = {prefix##cuMemcpyHtoDAsync_v2, prefix##cuMemcpyHtoDAsync_v2_ptsz},   \
		.dtoh_async = {prefix##cuMemcpyDtoHAsync_v2, prefix##cuMemcpyDtoHAsync_v2_ptsz},   \
		.dtod_async = {prefix##cuMemcpyDtoDAsync_v2, prefix##cuMemcpyDtoDAsync_v2_ptsz},   \
		.any_async = {prefix##cuMemcpyAsync, prefix##cuMemcpyAsync_ptsz},                  \
		.set8 = {prefix##cuMemsetD8_v2, prefix##cuMemsetD8_v2_ptds},                       \
		.set8_async = {prefix##cuMemsetD8Async, prefix##cuMemsetD8Async_ptsz},             \
		.copy_2d = prefix##cuMemcpy2DUnaligned_v2,                                         \
		.copy_2d_async = prefix##cuMemcpy2DAsync_v2, .peer = prefix##cuMemcpyPeer,         \
		.peer_async = prefix##cuMemcpyPeerAsync,                                           \
	}

const struct fake_cuda_memory_calls *driver_memory_calls(bool internal)
{
	static const struct fake_cuda_memory_calls exported = CALLS();
	static const struct fake_cuda_memory_calls unexported = CALLS(internal_);

	return internal ? &unexported : &exported;
}
