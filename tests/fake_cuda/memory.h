/* SPDX-License-Identifier: MIT */
/*
 * The virtual GPU's memory: which addresses are device memory or pinned, and how copies and sets
 * between addresses work. It is real memory of the process, so bytes do arrive. Every function
 * returns a CUresult unless noted.
 */
#ifndef TESTS_FAKE_CUDA_MEMORY_H
#define TESTS_FAKE_CUDA_MEMORY_H

#include "fake_timeline.h"

/* The kind of memory that a call claims. */
enum memory_side { MEMORY_ANYWHERE, MEMORY_ON_HOST, MEMORY_ON_DEVICE };

struct memory_copy {
	struct gpu_bytes bytes;
	enum memory_side to, from;
	bool async;
};

/*
 * Allocate device memory of the current context, or pinned host memory (`kind`,
 * CUPTI_ABI_MEMORY_*). `stream`: the stream that orders the call, NULL if it is synchronous.
 */
int memory_allocate(void **address, size_t size, uint8_t kind, struct fake_cuda_stream *stream);
/* Allocates without callbacks: memory of graphs. */
int memory_reserve(void **address, size_t size, uint8_t kind);
/*
 * A record of memory that is followed by nothing but its calls: physical memory, or that of graphs.
 * Only with FAKE_CUDA_MEMORY_RECORDS.
 */
void memory_record(uint64_t address, uint64_t size, uint32_t operation);
/* Returns the bytes that a device's only pool holds, and has handed out; asynchronous calls use it.
 */
void memory_pool_state(uint32_t device, uint64_t *held, uint64_t *used);
/* Gives back what has not been handed out, but for so many bytes. */
void memory_pool_trim(uint32_t device, uint64_t keep);
uint64_t memory_pool_address(uint32_t device);
bool memory_known(const void *address, uint8_t kind);
int memory_release(void *address, uint8_t kind, struct fake_cuda_stream *stream);
/* A context has ended: frees everything allocated in it. */
void memory_forget(const struct fake_cuda_context *context);

/*
 * The work of a copy or a set; INVALID_VALUE if an address is not in the claimed kind of memory, or
 * its allocation is too short.
 */
int memory_copy_work(struct gpu_work *work, const struct memory_copy *copy);
int memory_set_work(struct gpu_work *work, const struct gpu_bytes *bytes, uint32_t value,
		    bool async);
/* Copy or set the bytes of work; nothing if its device memory has been released since. */
void memory_move(const struct gpu_work *work);

#endif
