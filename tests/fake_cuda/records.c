/* SPDX-License-Identifier: MIT */
#include "records.h"
#include "visible.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

size_t record_size(uint32_t kind)
{
	switch (kind) {
	case CUPTI_ABI_ACTIVITY_KIND_KERNEL:
	case CUPTI_ABI_ACTIVITY_KIND_CONCURRENT_KERNEL:
		return sizeof(struct kernel_record);
	case CUPTI_ABI_ACTIVITY_KIND_MEMCPY:
		return sizeof(union memcpy_record);
	case CUPTI_ABI_ACTIVITY_KIND_MEMCPY2:
		return sizeof(union peer_record);
	case CUPTI_ABI_ACTIVITY_KIND_MEMSET:
		return sizeof(union memset_record);
	case CUPTI_ABI_ACTIVITY_KIND_MEMORY2:
		return sizeof(struct memory_record);
	case CUPTI_ABI_ACTIVITY_KIND_MEMORY_POOL:
		return sizeof(struct pool_record);
	case CUPTI_ABI_ACTIVITY_KIND_GRAPH_TRACE:
		return sizeof(struct graph_record);
	case CUPTI_ABI_ACTIVITY_KIND_MEM_DECOMPRESS:
		return FAKE_CUPTI_VERSION >= 26 ? sizeof(struct decompress_record) : 0;
	case CUPTI_ABI_ACTIVITY_KIND_DEVICE:
		return sizeof(struct device_record);
	case CUPTI_ABI_ACTIVITY_KIND_CONTEXT:
		return sizeof(union context_record);
	}
	return 0;
}

uint32_t record_kind(const struct fake_cuda_activity *a)
{
	switch (a->type) {
	case FAKE_CUDA_KERNEL:
		return CUPTI_ABI_ACTIVITY_KIND_CONCURRENT_KERNEL;
	case FAKE_CUDA_COPY:
		return a->copy_kind == CUPTI_ABI_MEMCPY_PTOP ? CUPTI_ABI_ACTIVITY_KIND_MEMCPY2
							     : CUPTI_ABI_ACTIVITY_KIND_MEMCPY;
	case FAKE_CUDA_SET:
		return a->decompresses ? CUPTI_ABI_ACTIVITY_KIND_MEM_DECOMPRESS
				       : CUPTI_ABI_ACTIVITY_KIND_MEMSET;
	case FAKE_CUDA_MEMORY:
		return CUPTI_ABI_ACTIVITY_KIND_MEMORY2;
	case FAKE_CUDA_POOL:
		return CUPTI_ABI_ACTIVITY_KIND_MEMORY_POOL;
	case FAKE_CUDA_GRAPH:
		return CUPTI_ABI_ACTIVITY_KIND_GRAPH_TRACE;
	case FAKE_CUDA_DEVICE:
		return CUPTI_ABI_ACTIVITY_KIND_DEVICE;
	case FAKE_CUDA_CONTEXT:
		return CUPTI_ABI_ACTIVITY_KIND_CONTEXT;
	}
	return CUPTI_ABI_ACTIVITY_KIND_INVALID;
}

static void fill_kernel(struct kernel_record *r, const struct fake_cuda_activity *a)
{
	r->prefix.registers_per_thread = 16;
	r->prefix.device_id = a->device_id;
	r->prefix.context_id = a->context_id;
	r->prefix.stream_id = a->stream_id;
	r->prefix.grid_x = (int32_t)a->grid[0];
	r->prefix.grid_y = (int32_t)a->grid[1];
	r->prefix.grid_z = (int32_t)a->grid[2];
	r->prefix.block_x = (int32_t)a->block[0];
	r->prefix.block_y = (int32_t)a->block[1];
	r->prefix.block_z = (int32_t)a->block[2];
	r->prefix.dynamic_shared_memory = (int32_t)a->shared_memory;
	r->prefix.correlation_id = a->correlation_id;
	r->prefix.grid_id = a->grid_id;
	r->prefix.name = a->name;
	r->prefix.graph_id = a->graph_id;
	r->prefix.graph_node_id = a->graph_node_id;
	r->cluster[0] = r->cluster[1] = r->cluster[2] = 1;
}

static void fill_memcpy(union memcpy_record *r, const struct fake_cuda_activity *a)
{
#if FAKE_CUPTI_VERSION >= 26
	r->words[11] = 1;
#endif
	r->prefix.copy_kind = a->copy_kind;
	r->prefix.source_kind = a->source_kind;
	r->prefix.destination_kind = a->destination_kind;
	r->prefix.flags = a->async;
	r->prefix.bytes = a->bytes;
	r->prefix.device_id = a->device_id;
	r->prefix.context_id = a->context_id;
	r->prefix.stream_id = a->stream_id;
	r->prefix.correlation_id = a->correlation_id;
	r->prefix.graph_node_id = a->graph_node_id;
	r->prefix.graph_id = a->graph_id;
}

static void fill_peer(union peer_record *r, const struct fake_cuda_activity *a)
{
	r->prefix.copy_kind = a->copy_kind;
	r->prefix.source_kind = a->source_kind;
	r->prefix.destination_kind = a->destination_kind;
	r->prefix.flags = a->async;
	r->prefix.bytes = a->bytes;
	r->prefix.device_id = a->device_id;
	r->prefix.context_id = a->context_id;
	r->prefix.stream_id = a->stream_id;
	r->prefix.source_device_id = a->source.device_id;
	r->prefix.source_context_id = a->source.context_id;
	r->prefix.destination_device_id = a->destination.device_id;
	r->prefix.destination_context_id = a->destination.context_id;
	r->prefix.correlation_id = a->correlation_id;
	r->prefix.graph_node_id = a->graph_node_id;
	r->prefix.graph_id = a->graph_id;
}

static void fill_memset(union memset_record *r, const struct fake_cuda_activity *a)
{
	r->prefix.value = a->value;
	r->prefix.bytes = a->bytes;
	r->prefix.device_id = a->device_id;
	r->prefix.context_id = a->context_id;
	r->prefix.stream_id = a->stream_id;
	r->prefix.correlation_id = a->correlation_id;
	r->prefix.flags = a->async;
	r->prefix.memory_kind = a->destination_kind;
	r->prefix.graph_node_id = a->graph_node_id;
	r->prefix.graph_id = a->graph_id;
}

static void fill_decompress(struct decompress_record *r, const struct fake_cuda_activity *a)
{
	r->prefix.device_id = a->device_id;
	r->prefix.context_id = a->context_id;
	r->prefix.stream_id = a->stream_id;
	r->prefix.channel_type = 3; /* CUPTI_CHANNEL_TYPE_DECOMP */
	r->prefix.correlation_id = a->correlation_id;
	r->prefix.operations = 1;
	r->prefix.source_bytes = a->bytes;
}

static void fill_memory(struct memory_record *r, const struct fake_cuda_activity *a)
{
	r->prefix.operation = a->operation;
	r->prefix.memory_kind = a->destination_kind;
	r->prefix.correlation_id = a->correlation_id;
	r->prefix.address = a->address;
	r->prefix.bytes = a->bytes;
	r->prefix.process_id = (uint32_t)getpid();
	r->prefix.device_id = a->device_id;
	r->prefix.context_id = a->context_id;
	r->prefix.stream_id = a->stream_id;
	r->prefix.is_async = a->async;
	if (!a->pool)
		return;
	r->prefix.pool_type = CUPTI_ABI_POOL_LOCAL;
	r->prefix.pool_address = a->pool;
	r->prefix.pool_size = a->held;
	r->prefix.pool_used = a->used;
}

static void fill_pool(struct pool_record *r, const struct fake_cuda_activity *a)
{
	r->prefix.operation = a->operation;
	r->prefix.type = CUPTI_ABI_POOL_LOCAL;
	r->prefix.correlation_id = a->correlation_id;
	r->prefix.process_id = (uint32_t)getpid();
	r->prefix.device_id = a->device_id;
	r->prefix.address = a->pool;
	r->prefix.size = a->held;
	r->prefix.used = a->used;
}

static void fill_graph(struct graph_record *r, const struct fake_cuda_activity *a)
{
	r->prefix.correlation_id = a->correlation_id;
	r->prefix.device_id = a->device_id;
	r->prefix.graph_id = a->graph_id;
	r->prefix.context_id = a->context_id;
	r->prefix.stream_id = a->stream_id;
#if FAKE_CUPTI_VERSION >= 21
	r->end_device_id = a->device_id;
	r->end_context_id = a->context_id;
#endif
}

/* Returns the GPU that the program sees under this number. */
static int gpu_of(uint32_t device)
{
	enum { GPUS = 8 };
	int gpus[GPUS];

	return (int)device < fake_cuda_visible(GPUS, gpus) ? gpus[device] : (int)device;
}

/* FAKE_CUDA_MIG: "GPU INSTANCE/COMPUTE INSTANCE" of device 0; other devices are not instances. */
static bool mig_of(uint32_t device, unsigned int *gpu, unsigned int *compute)
{
	const char *text = getenv("FAKE_CUDA_MIG");

	*gpu = *compute = UINT32_MAX;
	return gpu_of(device) == 0 && text && sscanf(text, "%u/%u", gpu, compute) == 2;
}

static void fill_uuid(uint8_t *uuid, uint8_t first, uint32_t device)
{
	for (uint32_t i = 0; i < 16; i++)
		uuid[i] = (uint8_t)(first + i);
	uuid[15] = (uint8_t)gpu_of(device);
}

static void fill_device(struct device_record *r, uint32_t device)
{
	const char *how = getenv("FAKE_CUDA_DEVICE_RECORDS");
	unsigned int gpu, compute;
	struct cupti_abi_device *d = &r->prefix;

	d->flags = 1; /* CUPTI_ACTIVITY_FLAG_DEVICE_CONCURRENT_KERNELS */
	d->memory_bandwidth = 3350000000u;
	d->memory_size = UINT64_C(80) << 30;
	d->constant_memory_size = 65536;
	d->l2_cache_size = 50u << 20;
	d->threads_per_warp = 32;
	d->core_clock_rate = 1980000;
	d->memcpy_engines = 3;
	d->multiprocessors = 132;
	d->max_ipc = 4;
	d->max_warps = 64;
	d->max_blocks = 32;
	d->max_shared_memory = 228u << 10;
	d->max_registers = d->max_block_registers = 65536;
	d->max_block_shared_memory = 48u << 10;
	d->max_block_threads = d->max_block_x = d->max_block_y = 1024;
	d->max_block_z = 64;
	d->max_grid_x = INT32_MAX;
	d->max_grid_y = d->max_grid_z = 65535;
	d->compute_capability_major = 9;
	d->id = device;
	d->ecc_enabled = 1;
	fill_uuid(d->uuid, 0x10, device);
	d->name = "Fake GPU";
	d->is_cuda_visible = 1;
	d->is_mig_enabled = mig_of(device, &gpu, &compute);
	d->gpu_instance_id = gpu;
	d->compute_instance_id = compute;
	if (d->is_mig_enabled)
		fill_uuid(d->mig_uuid, 0xa0, device);
#if FAKE_CUPTI_VERSION >= 22
	r->numa_id = UINT32_MAX;
#endif
	/* one more field before the others, and no pointer after it */
	if (how && strcmp(how, "other") == 0)
		memmove((uint8_t *)r + 16, (uint8_t *)r + 8, sizeof(*r) - 16);
}

static void fill_context(union context_record *r, const struct fake_cuda_activity *a)
{
	const char *mps = getenv("FAKE_CUDA_MPS");

	r->prefix.context_id = a->context_id;
	r->prefix.device_id = a->device_id;
	r->prefix.compute_api =
		mps && *mps == '1' ? CUPTI_ABI_COMPUTE_API_CUDA_MPS : CUPTI_ABI_COMPUTE_API_CUDA;
	r->prefix.null_stream_id = 7;
}

void record_fill(void *record, uint32_t kind, const struct fake_cuda_activity *activity)
{
	memset(record, 0, record_size(kind));
	memcpy(record, &kind, sizeof(kind));
	switch (activity->type) {
	case FAKE_CUDA_KERNEL:
		fill_kernel(record, activity);
		break;
	case FAKE_CUDA_COPY:
		if (kind == CUPTI_ABI_ACTIVITY_KIND_MEMCPY2)
			fill_peer(record, activity);
		else
			fill_memcpy(record, activity);
		break;
	case FAKE_CUDA_SET:
		if (kind == CUPTI_ABI_ACTIVITY_KIND_MEM_DECOMPRESS)
			fill_decompress(record, activity);
		else
			fill_memset(record, activity);
		break;
	case FAKE_CUDA_MEMORY:
		fill_memory(record, activity);
		break;
	case FAKE_CUDA_POOL:
		fill_pool(record, activity);
		break;
	case FAKE_CUDA_GRAPH:
		fill_graph(record, activity);
		break;
	case FAKE_CUDA_DEVICE:
		fill_device(record, activity->device_id);
		break;
	case FAKE_CUDA_CONTEXT:
		fill_context(record, activity);
		break;
	}
}

void record_set_times(void *record, uint64_t start, uint64_t end)
{
	struct kernel_record *kernel = record;
	union memcpy_record *copy = record;
	union peer_record *peer = record;
	union memset_record *set = record;
	struct memory_record *memory = record;
	struct pool_record *pool = record;
	struct graph_record *graph = record;
	struct decompress_record *decompress = record;

	switch (kernel->prefix.kind) {
	case CUPTI_ABI_ACTIVITY_KIND_KERNEL:
	case CUPTI_ABI_ACTIVITY_KIND_CONCURRENT_KERNEL:
		kernel->prefix.start = start;
		kernel->prefix.end = kernel->prefix.completed = end;
		break;
	case CUPTI_ABI_ACTIVITY_KIND_MEMCPY:
		copy->prefix.start = start;
		copy->prefix.end = end;
		break;
	case CUPTI_ABI_ACTIVITY_KIND_MEMCPY2:
		peer->prefix.start = start;
		peer->prefix.end = end;
		break;
	case CUPTI_ABI_ACTIVITY_KIND_MEMSET:
		set->prefix.start = start;
		set->prefix.end = end;
		break;
	case CUPTI_ABI_ACTIVITY_KIND_MEM_DECOMPRESS:
		decompress->prefix.start = start;
		decompress->prefix.end = end;
		break;
	case CUPTI_ABI_ACTIVITY_KIND_MEMORY2:
		memory->prefix.timestamp = start;
		break;
	case CUPTI_ABI_ACTIVITY_KIND_MEMORY_POOL:
		pool->prefix.timestamp = start;
		break;
	case CUPTI_ABI_ACTIVITY_KIND_GRAPH_TRACE:
		graph->prefix.start = start;
		graph->prefix.end = end;
		break;
	}
}
