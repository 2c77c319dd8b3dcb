/* SPDX-License-Identifier: MIT */
/*
 * Defines the kinds of GPU work that CUPTI reports. The values are those of the wire format: add
 * new ones at the end.
 *
 * Spans have a duration that counts as GPU time, unless they are stalls. Instants have none: they
 * are counted, with their bytes.
 */
#ifndef CUPTI_TRACE_WIRE_GPU_WORK_H
#define CUPTI_TRACE_WIRE_GPU_WORK_H

enum gpu_work {
	GPU_WORK_KERNEL = 0,
	/* copies: host, device, array, peer */
	GPU_WORK_MEMCPY_OTHER,
	GPU_WORK_MEMCPY_HTOD,
	GPU_WORK_MEMCPY_DTOH,
	GPU_WORK_MEMCPY_HTOA,
	GPU_WORK_MEMCPY_ATOH,
	GPU_WORK_MEMCPY_ATOA,
	GPU_WORK_MEMCPY_ATOD,
	GPU_WORK_MEMCPY_DTOA,
	GPU_WORK_MEMCPY_DTOD,
	GPU_WORK_MEMCPY_HTOH,
	GPU_WORK_MEMCPY_PTOP,
	GPU_WORK_MEMSET,
	GPU_WORK_GRAPH, /* a graph's launch as a whole, where its nodes are not recorded */
	/* unified memory: has no launch */
	GPU_WORK_UVM_HTOD, /* a migration */
	GPU_WORK_UVM_DTOH,
	GPU_WORK_UVM_DTOD,
	GPU_WORK_UVM_GPU_FAULTS, /* a group of page faults on a GPU; `bytes` is their number */
	GPU_WORK_UVM_CPU_FAULT,  /* an instant */
	GPU_WORK_UVM_OTHER,      /* thrashing, throttling, remote maps */
	/* memory calls: instants */
	GPU_WORK_ALLOC,
	GPU_WORK_FREE,
	GPU_WORK_DECOMPRESS,   /* a batch; `bytes` is the input's size */
	GPU_WORK_DEVICE_GRAPH, /* like GPU_WORK_GRAPH, launched by a kernel */
	GPU_WORKS
};

/* Returns true for work that the program does not launch: it has no correlation id and no stack. */
static inline int gpu_work_has_no_launch(unsigned int work)
{
	return (work >= GPU_WORK_UVM_HTOD && work <= GPU_WORK_UVM_OTHER) ||
	       work == GPU_WORK_DEVICE_GRAPH;
}

static inline int gpu_work_is_copy(unsigned int work)
{
	return work >= GPU_WORK_MEMCPY_OTHER && work <= GPU_WORK_MEMCPY_PTOP;
}

static inline int gpu_work_is_memory_call(unsigned int work)
{
	return work == GPU_WORK_ALLOC || work == GPU_WORK_FREE;
}

/*
 * Returns true if kernels stand still meanwhile. Their durations include that time, so it is not
 * GPU time of its own.
 */
static inline int gpu_work_is_stall(unsigned int work)
{
	return work == GPU_WORK_UVM_GPU_FAULTS || work == GPU_WORK_UVM_OTHER;
}

/* CUpti_ActivityMemoryKind: the host's memory, and a GPU's own. */
enum { GPU_MEMORY_PAGEABLE = 1, GPU_MEMORY_PINNED = 2 };
enum { GPU_MEMORY_DEVICE = 3, GPU_MEMORY_ARRAY = 4, GPU_MEMORY_DEVICE_STATIC = 6 };
enum { GPU_MEMORY_MANAGED = 5, GPU_MEMORY_MANAGED_STATIC = 7 };

static inline int gpu_memory_is_device(unsigned int kind)
{
	return kind == GPU_MEMORY_DEVICE || kind == GPU_MEMORY_ARRAY ||
	       kind == GPU_MEMORY_DEVICE_STATIC;
}

static inline int gpu_memory_is_unified(unsigned int kind)
{
	return kind == GPU_MEMORY_MANAGED || kind == GPU_MEMORY_MANAGED_STATIC;
}

/* Return true for a copy from or to host memory. */
static inline int gpu_work_is_from_host(unsigned int work)
{
	return work == GPU_WORK_MEMCPY_HTOD || work == GPU_WORK_MEMCPY_HTOA;
}

static inline int gpu_work_is_to_host(unsigned int work)
{
	return work == GPU_WORK_MEMCPY_DTOH || work == GPU_WORK_MEMCPY_ATOH;
}

/*
 * Returns true for a piece of a copy between two GPUs without access to each other's memory. Such a
 * copy goes through host memory. CUPTI 13.0 records a copy from device to host and one from host to
 * device under one correlation id. Their memory kinds are those of the copy's source and
 * destination, neither of them the host's. For large copies it records the last piece only, with
 * all the bytes (64 MiB over PCIe: 22 us).
 */
static inline int gpu_work_is_staged(unsigned int work, unsigned int source_memory,
				     unsigned int destination_memory)
{
	return (gpu_work_is_from_host(work) || gpu_work_is_to_host(work)) &&
	       gpu_memory_is_device(source_memory) && gpu_memory_is_device(destination_memory);
}

static inline int gpu_work_is_instant(unsigned int work)
{
	return work == GPU_WORK_UVM_CPU_FAULT || gpu_work_is_memory_call(work);
}

#endif
