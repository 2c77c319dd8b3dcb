/* SPDX-License-Identifier: MIT */
/*
 * What the parameters of a call say, by the function's name: the shape of a launch, how much is
 * copied or allocated, and where.
 *
 * CUPTI hands a callback the parameters as a struct with a member for each, in order (the headers
 * generated_cuda_meta.h and generated_cuda_runtime_api_meta.h; tests/unit/test_call_params.c
 * compares with them where a toolkit is installed). For functions whose parameters are not known
 * here, all values are 0.
 *
 * No allocation, no locks. Parameters are read as the function itself does; what they point to is
 * read before the call only where the kernel says that there is memory.
 */
#ifndef CUPTI_TRACE_LAUNCH_CALL_PARAMS_H
#define CUPTI_TRACE_LAUNCH_CALL_PARAMS_H

#include <stdint.h>

enum call_sort {
	CALL_OTHER,
	CALL_LAUNCH, /* of a kernel, or of a graph */
	CALL_COPY,
	CALL_ALLOC, /* of memory of a device, or that devices can reach */
	CALL_FREE,
	CALL_SYNC, /* does nothing but wait for the GPU */
};

struct call_layout {
	uint8_t sort;  /* enum call_sort */
	uint8_t shape; /* of the parameters; call_params.c */
};

/* `name` as CUPTI gives it. */
struct call_layout call_layout_of(const char *name);

struct call_launch {
	uint32_t grid[3], block[3]; /* all 0: not known, or a graph's */
	uint64_t stream;            /* the handle */
};
void call_params_launch(struct call_layout layout, const void *params, struct call_launch *launch);

/* The bytes of a copy; 0: not known. */
uint64_t call_params_copied(struct call_layout layout, const void *params);

struct call_memory {
	uint64_t address; /* or the handle of an array or of physical memory */
	uint64_t bytes;   /* 0: of a release, or not known */
	uint64_t stream;  /* the handle; 0: the call is not ordered in a stream */
};

/* Reads an allocation that has succeeded, or a release at its entry. */
void call_params_memory(struct call_layout layout, const void *params, struct call_memory *memory);

/* The handle of the stream that is waited for; 0: not one. */
uint64_t call_params_awaited(struct call_layout layout, const void *params);

#endif
