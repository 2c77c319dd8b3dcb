/* SPDX-License-Identifier: MIT */
/*
 * What a function of CUDA's runtime or driver does, by its name as CUPTI gives it
 * (cuptiGetCallbackName): "cudaLaunchKernel_ptsz_v7000", "cuMemcpyHtoDAsync_v2".
 *
 * Rules on names instead of lists of callback ids, so that a new version of a function, or a new
 * way to launch, copy or set, is followed without a change here. CUDA marks versions of a function
 * by "_v2" and the like, those for a default stream of each thread by "_ptds" and "_ptsz", and
 * CUPTI appends the CUDA version that a function of the runtime came with ("_v12030").
 *
 * Names are asked for once, when tracing starts; launches look up a table by callback id.
 */
#ifndef CUPTI_TRACE_CORE_API_FUNCTION_H
#define CUPTI_TRACE_CORE_API_FUNCTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum api_meaning {
	API_NOTHING,
	API_KERNEL, /* launches one kernel */
	API_GRAPH,  /* launches any number of operations */
	API_OTHER,  /* copies, sets, decompresses, allocates */
	API_NODE,   /* makes nodes of graphs, or clones them: only its name is of interest */
};

struct api_function {
	enum api_meaning meaning;
	bool waits;       /* for the GPU: may be one of those above, too */
	bool allocates;   /* or frees */
	bool is_stream;   /* waits for one stream, its first parameter */
	bool runs_graph;  /* launches the executable graph that its first parameter is */
	bool is_enqueued; /* by its name it gives work to a stream, whatever that is */
	bool tells_error; /* returns the error of an earlier call, and has not failed itself */
	/* of copies and sets whose record can be told from their parameters: see api_function_owes
	 */
	uint8_t size_at, kind_at;
	uint8_t kernel_at; /* of launches: where in the parameters the kernel or graph is */
};

/* Functions that begin with "__" are parts of others, and mean nothing. */
struct api_function api_function_of(const char *name);

/*
 * The name as programs write it, without the CUDA version that CUPTI appends. Length is at most
 * that of `name`; cut if there is less room.
 */
void api_function_name(const char *name, char *out, size_t size);

/*
 * The length of the name as programs write it, without what marks a default stream of each thread:
 * functions that have it in common have the same parameters.
 */
size_t api_function_length(const char *name);

/*
 * Returns whether a call with these parameters has a record unless it fails: it copies between host
 * and device or within devices, or sets, at least a byte. False: it may have none, or cannot be
 * told.
 */
bool api_function_owes(uint8_t size_at, uint8_t kind_at, const void *params);

/*
 * How many bytes a call copies, sets, allocates or prefetches, where its parameters alone say so.
 * `at` 0: not known. In rectangles the number is multiplied by `rows_at`.
 */
struct api_amount {
	uint8_t at, rows_at, unit; /* bytes of one element */
	uint8_t kind_at;           /* the cudaMemcpyKind; 0: there is none */
};
struct api_amount api_function_amount(const char *name);

/* Returns the bytes of a call with these parameters, saturated; and the kind, any number. */
uint64_t api_amount_bytes(const struct api_amount *amount, const void *params);
uint32_t api_amount_kind(const struct api_amount *amount, const void *params);

/*
 * Returns whether a callback id of a domain is of a function newer than CUDA 13.0, the newest whose
 * functions were all looked at.
 */
bool api_function_is_new(uint32_t domain, uint32_t cbid);

#endif
