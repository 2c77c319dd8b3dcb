// SPDX-License-Identifier: MIT
#include "cupti_trace/launch/call_params.h"

#include <stddef.h>
#include <string.h>
#include "cupti_trace/core/api_function.h"
#include "cupti_trace/core/readable.h"

/* Layouts of parameters; offsets are in bytes. */
enum shape {
	SHAPE_UNKNOWN,
	LAUNCH_RUNTIME,  /* kernel, grid, block, arguments, size_t shared, stream */
	LAUNCH_CONFIG,   /* pointer to grid, block, shared, stream */
	LAUNCH_DRIVER,   /* kernel, grid, block, unsigned shared, stream */
	LAUNCH_GRAPH,    /* graph, stream */
	COPY_SIZE_THIRD, /* two addresses, size */
	COPY_SIZE_FIFTH, /* two addresses and two contexts or devices, size */
	COPY_PITCHED,    /* address, pitch, address, pitch, width, height */
	ALLOC,           /* result, size */
	ALLOC_IN_STREAM, /* result, size, stream */
	ALLOC_IN_POOL,   /* result, size, pool, stream */
	ALLOC_PITCHED,   /* result, pitch's result, width, height */
	ALLOC_3D,        /* address, pitch, width, height in one result; width, height, depth */
	ALLOC_HANDLE,    /* result; its size is not easily known */
	FREE,
	FREE_IN_STREAM, /* address, stream */
	SYNC_STREAM,    /* stream */
};

static const struct {
	struct call_layout layout;
	const char *names;
} known[] = {
	{{CALL_LAUNCH, LAUNCH_RUNTIME}, "cudaLaunchKernel cudaLaunchCooperativeKernel"},
	{{CALL_LAUNCH, LAUNCH_CONFIG}, "cudaLaunchKernelExC cuLaunchKernelEx"},
	{{CALL_LAUNCH, LAUNCH_DRIVER}, "cuLaunchKernel cuLaunchCooperativeKernel"},
	{{CALL_LAUNCH, LAUNCH_GRAPH}, "cudaGraphLaunch cuGraphLaunch"},
	{{CALL_COPY, COPY_SIZE_THIRD},
	 "cudaMemcpy cudaMemcpyAsync cuMemcpy cuMemcpyAsync cuMemcpyHtoD_v2 cuMemcpyHtoDAsync_v2 "
	 "cuMemcpyDtoH_v2 cuMemcpyDtoHAsync_v2 cuMemcpyDtoD_v2 cuMemcpyDtoDAsync_v2"},
	{{CALL_COPY, COPY_SIZE_FIFTH},
	 "cudaMemcpyPeer cudaMemcpyPeerAsync cuMemcpyPeer cuMemcpyPeerAsync"},
	{{CALL_COPY, COPY_PITCHED}, "cudaMemcpy2D cudaMemcpy2DAsync"},
	{{CALL_ALLOC, ALLOC},
	 "cudaMalloc cudaMallocHost cudaMallocManaged cudaHostAlloc cuMemAlloc_v2 "
	 "cuMemAllocHost_v2 cuMemHostAlloc cuMemAllocManaged cuMemCreate"},
	{{CALL_ALLOC, ALLOC_IN_STREAM}, "cudaMallocAsync cuMemAllocAsync"},
	{{CALL_ALLOC, ALLOC_IN_POOL}, "cudaMallocFromPoolAsync cuMemAllocFromPoolAsync"},
	{{CALL_ALLOC, ALLOC_PITCHED}, "cudaMallocPitch cuMemAllocPitch_v2"},
	{{CALL_ALLOC, ALLOC_3D}, "cudaMalloc3D"},
	{{CALL_ALLOC, ALLOC_HANDLE},
	 "cudaMallocArray cudaMalloc3DArray cudaMallocMipmappedArray cuArrayCreate_v2 "
	 "cuArray3DCreate_v2 cuMipmappedArrayCreate"},
	{{CALL_FREE, FREE},
	 "cudaFree cudaFreeHost cudaFreeArray cudaFreeMipmappedArray cuMemFree_v2 cuMemFreeHost "
	 "cuMemRelease cuArrayDestroy cuMipmappedArrayDestroy"},
	{{CALL_FREE, FREE_IN_STREAM}, "cudaFreeAsync cuMemFreeAsync"},
	{{CALL_SYNC, SYNC_STREAM}, "cudaStreamSynchronize cuStreamSynchronize"},
};

struct call_layout call_layout_of(const char *name)
{
	struct api_function function = api_function_of(name);

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (api_function_is_in(known[i].names, name, api_function_length(name)))
			return known[i].layout;
	if (function.meaning == API_KERNEL || function.meaning == API_GRAPH)
		return (struct call_layout){CALL_LAUNCH, SHAPE_UNKNOWN};
	if (function.meaning == API_OTHER && strstr(name, "Memcpy"))
		return (struct call_layout){CALL_COPY, SHAPE_UNKNOWN};
	if (function.meaning == API_NOTHING && function.waits)
		return (struct call_layout){CALL_SYNC, SHAPE_UNKNOWN};
	return (struct call_layout){CALL_OTHER, SHAPE_UNKNOWN};
}

static uint64_t number_at(const void *params, size_t offset)
{
	uint64_t value;

	memcpy(&value, (const uint8_t *)params + offset, sizeof(value));
	return value;
}

static void read_shape(const void *params, size_t offset, struct call_launch *launch)
{
	memcpy(launch->grid, (const uint8_t *)params + offset, sizeof(launch->grid));
	memcpy(launch->block, (const uint8_t *)params + offset + sizeof(launch->grid),
	       sizeof(launch->block));
}

#define CONFIG_BYTES 40u

/* Returns the program's launch configuration, which may be wrong; NULL: not readable. */
static const void *configuration(const void *params)
{
	uint64_t at = number_at(params, 0);

	if (at % 8 || !is_readable((uintptr_t)at) || !is_readable((uintptr_t)at + CONFIG_BYTES - 8))
		return NULL;
	return (const void *)(uintptr_t)at;
}

void call_params_launch(struct call_layout layout, const void *params, struct call_launch *launch)
{
	memset(launch, 0, sizeof(*launch));
	if (!params)
		return;
	switch ((enum shape)layout.shape) {
	case LAUNCH_RUNTIME:
		read_shape(params, 8, launch);
		launch->stream = number_at(params, 48);
		break;
	case LAUNCH_DRIVER:
		read_shape(params, 8, launch);
		launch->stream = number_at(params, 40);
		break;
	case LAUNCH_CONFIG:
		params = configuration(params);
		if (!params)
			return;
		read_shape(params, 0, launch);
		launch->stream = number_at(params, 32);
		break;
	case LAUNCH_GRAPH:
		launch->stream = number_at(params, 8);
		break;
	default:
		break;
	}
}

uint64_t call_params_copied(struct call_layout layout, const void *params)
{
	if (!params)
		return 0;
	switch ((enum shape)layout.shape) {
	case COPY_SIZE_THIRD:
		return number_at(params, 16);
	case COPY_SIZE_FIFTH:
		return number_at(params, 32);
	case COPY_PITCHED:
		return number_at(params, 32) * number_at(params, 40);
	default:
		return 0;
	}
}

/* Returns the call's result, to which its first parameter points. */
static uint64_t result_at(const void *params, size_t offset)
{
	const void *result = (const void *)(uintptr_t)number_at(params, offset);

	return result ? number_at(result, 0) : 0;
}

void call_params_memory(struct call_layout layout, const void *params, struct call_memory *memory)
{
	enum shape shape = (enum shape)layout.shape;

	memset(memory, 0, sizeof(*memory));
	if (!params || shape == SHAPE_UNKNOWN)
		return;
	if (layout.sort == CALL_FREE) {
		memory->address = number_at(params, 0);
		memory->stream = shape == FREE_IN_STREAM ? number_at(params, 8) : 0;
		return;
	}
	memory->address = result_at(params, 0);
	if (shape == ALLOC || shape == ALLOC_IN_STREAM || shape == ALLOC_IN_POOL)
		memory->bytes = number_at(params, 8);
	else if (shape == ALLOC_PITCHED)
		memory->bytes = result_at(params, 8) * number_at(params, 24);
	else if (shape == ALLOC_3D && memory->address)
		memory->bytes = number_at((const void *)(uintptr_t)number_at(params, 0), 8) *
				number_at(params, 16) * number_at(params, 24);
	if (shape == ALLOC_IN_STREAM)
		memory->stream = number_at(params, 16);
	else if (shape == ALLOC_IN_POOL)
		memory->stream = number_at(params, 24);
}

uint64_t call_params_awaited(struct call_layout layout, const void *params)
{
	return params && layout.shape == SYNC_STREAM ? number_at(params, 0) : 0;
}
