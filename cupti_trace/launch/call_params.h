/* SPDX-License-Identifier: MIT */
/*
 * Interprets the parameters of a call, by the function's name: the shape of a launch, the size and
 * place of a copy or allocation.
 *
 * CUPTI passes a callback the parameters as a struct with a member for each, in order
 * (generated_cuda_meta.h, generated_cuda_runtime_api_meta.h). tests/unit/test_call_params.c
 * compares with these headers if a toolkit is installed. For other functions all values are 0.
 *
 * No allocation, no locks. Parameters are read as the function itself reads them. Before the call,
 * data behind a pointer are read only where the kernel confirms that there is memory.
 */
#ifndef CUPTI_TRACE_LAUNCH_CALL_PARAMS_H
#define CUPTI_TRACE_LAUNCH_CALL_PARAMS_H

#include <stdint.h>

enum call_sort {
	CALL_OTHER,
	CALL_LAUNCH, /* a kernel or a graph */
	CALL_COPY,
	CALL_ALLOC, /* memory of a device, or accessible to devices */
	CALL_FREE,
	CALL_SYNC, /* only waits for the GPU */
};

struct call_layout {
	uint8_t sort;  /* enum call_sort */
	uint8_t shape; /* layout of the parameters; call_params.c */
};

/* Returns the layout; `name` is CUPTI's. */
struct call_layout call_layout_of(const char *name);

struct call_launch {
	uint32_t grid[3], block[3]; /* all 0: unknown, or a graph's */
	uint64_t stream;            /* the handle */
};
void call_params_launch(struct call_layout layout, const void *params, struct call_launch *launch);

/* Returns the bytes of a copy; 0: unknown. */
uint64_t call_params_copied(struct call_layout layout, const void *params);

struct call_memory {
	uint64_t address; /* or the handle of an array or of physical memory */
	uint64_t bytes;   /* 0: a release, or unknown */
	uint64_t stream;  /* its handle; 0: the call is not ordered in a stream */
};

/* Reads an allocation that has succeeded, or a release at its entry. */
void call_params_memory(struct call_layout layout, const void *params, struct call_memory *memory);

/* Returns the handle of the stream that is waited for; 0: none. */
uint64_t call_params_awaited(struct call_layout layout, const void *params);

#endif
