/* SPDX-License-Identifier: MIT */
/*
 * Indexes the runtime and driver functions that the library follows, and what callbacks do for
 * each. Made once, when CUPTI is subscribed to; then any thread reads it.
 */
#ifndef CUPTI_TRACE_MAIN_FOLLOWED_FUNCTIONS_H
#define CUPTI_TRACE_MAIN_FOLLOWED_FUNCTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include "cupti_trace/core/api_function.h"
#include "cupti_trace/core/hot_path.h"
#include "cupti_trace/core/tracer.h"

#define RT CUPTI_ABI_DOMAIN_RUNTIME_API
#define DRV CUPTI_ABI_DOMAIN_DRIVER_API

#define FUNCTIONS_MAX 128
#define FUNCTION_NAMES_ROOM 1024

/*
 * Role of a function. The order is compared. Up to FUNCTION_ENDS_RANGE it neither waits nor
 * launches. From FUNCTION_NODES its name is noted. From FUNCTION_USUAL it launches: one kernel up
 * to FUNCTION_KERNEL, no kernel from FUNCTION_OTHER.
 */
enum function_role {
	FUNCTION_IGNORED, /* it is not followed */
	FUNCTION_RESETS,  /* cudaDeviceReset */
	FUNCTION_STARTS_RANGE,
	FUNCTION_ENDS_RANGE,
	FUNCTION_WAITS,  /* waits for the GPU, and launches nothing */
	FUNCTION_NODES,  /* makes nodes of graphs */
	FUNCTION_USUAL,  /* launches a kernel, needs nothing else, and its name is here */
	FUNCTION_KERNEL, /* launches one; needs more, or has no room for its name */
	FUNCTION_GRAPH,  /* launches any number of operations */
	FUNCTION_OTHER,  /* copies, sets, decompresses, allocates */
	FUNCTION_NEW,    /* only assumed to be one of those; its first call is reported */
};

struct function {
	uint8_t role; /* enum function_role; FUNCTION_NEW becomes FUNCTION_OTHER when reported */
	bool waits : 1, is_stream : 1, runs_graph : 1; /* as in struct api_function */
	bool flushes : 1;    /* waits for the GPU: finished work is sent before it returns */
	bool allocates : 1;  /* allocates, and each allocation needs its stack */
	bool is_plain : 1;   /* does nothing of its own within another call */
	bool does_more : 1;  /* needs more at its entry than a launch */
	bool ends_alone : 1; /* needs nothing at its exit if its launch succeeds */
	uint8_t size_at, kind_at, kernel_at; /* as in struct api_function */
	uint8_t flags;                       /* flags of its launches */
	const char *name; /* for launches; for others it is in the callback's data */
};

struct followed_functions {
	/*
	 * by callback id, for runtime and driver: twice the place in the list, which saves an
	 * instruction
	 */
	uint8_t number[CBIDS][2];
	/*
	 * equal functions share an entry; 0 is not followed. Functions that launch come first: all
	 * that they need is on one page
	 */
	struct function list[FUNCTIONS_MAX];
	uint32_t count;
	char names[FUNCTION_NAMES_ROOM]; /* names of functions that launch */
	bool follows_all;                /* for --api */
};
_Static_assert(2 * (FUNCTIONS_MAX - 1) <= UINT8_MAX, "numbers fit");
extern __attribute__((visibility("hidden"))) struct followed_functions followed_functions;

/* Fills the index, by CUPTI's names and the configuration. */
void followed_functions_index(const struct tracer *tracer);

/* Returns the function's entry: `cbid` is below CBIDS. */
static HOT_PATH_INLINE struct function *function_of(uint32_t domain, uint32_t cbid)
{
	uint64_t number = followed_functions.number[cbid][domain == DRV];
	struct function *f = (struct function *)((char *)followed_functions.list +
						 number * (sizeof(struct function) / 2));

	__asm__("" : "+r"(f)); /* the compiler would compute it again for each member */
	return f;
}

/* Returns the function's entry; NULL if it is not followed. Any `cbid`. */
static HOT_PATH_INLINE struct function *followed_function(uint32_t domain, uint32_t cbid)
{
	struct function *f;

	if (unlikely(cbid >= CBIDS))
		return NULL;
	f = function_of(domain, cbid);
	return likely(f->role != FUNCTION_IGNORED) ? f : NULL;
}

static inline const char *function_name(const struct function *f,
					const struct cupti_abi_callback_data *data)
{
	if (likely(f->name))
		return f->name;
	return data->function_name ? data->function_name : "";
}

#endif
