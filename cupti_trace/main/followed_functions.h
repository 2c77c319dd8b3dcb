/* SPDX-License-Identifier: MIT */
/*
 * What callbacks look up: which functions of CUDA's runtime and driver the library follows, and
 * what there is to do for each. Made once, when CUPTI is subscribed to; then any thread reads it.
 */
#ifndef CUPTI_TRACE_MAIN_FOLLOWED_FUNCTIONS_H
#define CUPTI_TRACE_MAIN_FOLLOWED_FUNCTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include "cupti_trace/core/hot_path.h"
#include "cupti_trace/core/tracer.h"

#define RT CUPTI_ABI_DOMAIN_RUNTIME_API
#define DRV CUPTI_ABI_DOMAIN_DRIVER_API

#define CBIDS 1024 /* ids of callbacks are below, in each of the two domains */
#define FUNCTIONS_MAX 128
#define FUNCTION_NAMES_ROOM 1024

/*
 * Each function has one. Their order is compared: up to FUNCTION_ENDS_RANGE it neither
 * waits nor launches, from FUNCTION_NODES its name is noted, from FUNCTION_USUAL it launches, up to
 * FUNCTION_KERNEL one kernel, from FUNCTION_OTHER no kernel.
 */
enum function_role {
	FUNCTION_IGNORED, /* it is not followed */
	FUNCTION_RESETS,  /* cudaDeviceReset */
	FUNCTION_STARTS_RANGE,
	FUNCTION_ENDS_RANGE,
	FUNCTION_WAITS,  /* for the GPU, and launches nothing */
	FUNCTION_NODES,  /* makes nodes of graphs */
	FUNCTION_USUAL,  /* launches a kernel, there is no more to do, and its name is here */
	FUNCTION_KERNEL, /* launches one, and there is more to do, or no room for its name */
	FUNCTION_GRAPH,  /* launches any number of operations */
	FUNCTION_OTHER,  /* copies, sets, decompresses, allocates */
	FUNCTION_NEW,    /* only guessed to be one of those; its first call is reported */
};

struct function {
	uint8_t role; /* enum function_role; FUNCTION_NEW becomes FUNCTION_OTHER when reported */
	bool waits : 1, is_stream : 1, runs_graph : 1; /* as in struct api_function */
	bool flushes : 1;    /* waits for the GPU: what has ended is sent before it returns */
	bool allocates : 1;  /* and each allocation needs its stack */
	bool is_plain : 1;   /* within another call it does nothing of its own */
	bool does_more : 1;  /* there is more to do at its entry than a launch */
	bool ends_alone : 1; /* if its launch succeeds, there is nothing to do at its exit */
	uint8_t size_at, kind_at, kernel_at; /* as in struct api_function */
	uint8_t flags;                       /* of its launches */
	const char *name; /* of launches; of others it is in the callback's data */
};

struct followed_functions {
	/* of each callback id the runtime's, the driver's: twice the place in the list, which
	 * saves an instruction */
	uint8_t number[CBIDS][2];
	/* functions that are alike have one entry; 0 is not followed. First those that launch: all
	 * that they need is on one page */
	struct function list[FUNCTIONS_MAX];
	uint32_t count;
	char names[FUNCTION_NAMES_ROOM]; /* of those that launch */
	bool follows_all;                /* for --api */
};
_Static_assert(2 * (FUNCTIONS_MAX - 1) <= UINT8_MAX, "numbers fit");
extern __attribute__((visibility("hidden"))) struct followed_functions followed_functions;

/* Fills them, by the names that CUPTI has and by what the profiler asks for. */
void followed_functions_index(const struct tracer *tracer);

/* Returns what is done for it: `cbid` is below CBIDS. */
static HOT_PATH_INLINE struct function *function_of(uint32_t domain, uint32_t cbid)
{
	uint64_t number = followed_functions.number[cbid][domain == DRV];
	struct function *f = (struct function *)((char *)followed_functions.list +
						 number * (sizeof(struct function) / 2));

	__asm__("" : "+r"(f)); /* the compiler would reckon it again for each member */
	return f;
}

/* Returns NULL if it is not followed, any `cbid`. */
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
