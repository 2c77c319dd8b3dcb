/* SPDX-License-Identifier: MIT */
/*
 * Classifies functions of CUDA's runtime and driver by CUPTI's name for them
 * (cuptiGetCallbackName): "cudaLaunchKernel_ptsz_v7000", "cuMemcpyHtoDAsync_v2".
 *
 * Works by rules on names instead of lists of callback ids. So a new version of a function, or a
 * new way to launch, copy or set, needs no change here. CUDA marks versions of a function by "_v2"
 * and the like, and variants for per-thread default streams by "_ptds" and "_ptsz". CUPTI appends
 * the CUDA version in which a runtime function appeared ("_v12030").
 *
 * Names are classified once, when tracing starts; launches look up a table by callback id.
 */
#ifndef CUPTI_TRACE_CORE_API_FUNCTION_H
#define CUPTI_TRACE_CORE_API_FUNCTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CBIDS 1024u /* callback ids of each domain are below this */

enum api_meaning {
	API_NOTHING,
	API_KERNEL, /* launches one kernel */
	API_GRAPH,  /* launches any number of operations */
	API_OTHER,  /* copies, sets, decompresses, allocates */
	API_NODE,   /* makes or clones nodes of graphs: only its name is of interest */
};

struct api_function {
	enum api_meaning meaning;
	bool waits;                 /* waits for the GPU; may have a meaning above as well */
	bool allocates;             /* allocates or frees */
	bool is_stream;             /* waits for one stream, its first parameter */
	bool runs_graph;            /* launches the executable graph in its first parameter */
	bool is_enqueued;           /* its name says that it enqueues work on a stream */
	bool returns_earlier_error; /* returns the error of an earlier call, and has not failed
				       itself */
	/* for copies and sets: positions from which api_function_has_record predicts a record */
	uint8_t size_at, kind_at;
	uint8_t kernel_at; /* for launches: position of the kernel or graph in the parameters */
};

/* Classifies a function. Functions that begin with "__" are internal to others: API_NOTHING. */
struct api_function api_function_of(const char *name);

/*
 * Writes the name as programs spell it, without the CUDA version that CUPTI appends. It is at most
 * as long as `name`, and is cut if `size` is less.
 */
void api_function_name(const char *name, char *out, size_t size);

/*
 * Returns the length of the name as programs spell it, without marks of a per-thread default
 * stream. Functions with equal names up to that length have equal parameters.
 */
size_t api_function_length(const char *name);

/* Returns whether a name of this length is in a list of names, which are separated by spaces. */
bool api_function_is_in(const char *list, const char *name, size_t length);

/*
 * Returns true if a call with these parameters has a record unless it fails: it copies at least a
 * byte between host and device or within devices, or sets one. False: it may have none.
 */
bool api_function_has_record(uint8_t size_at, uint8_t kind_at, const void *params);

/*
 * Positions of the number of bytes that a call copies, sets, allocates or prefetches. `at` is 0 if
 * the parameters alone do not tell. For rectangles the number is multiplied by `rows_at`.
 */
struct api_amount {
	uint8_t at, rows_at, unit; /* bytes of one element */
	uint8_t kind_at;           /* position of the cudaMemcpyKind; 0: none */
};
struct api_amount api_function_amount(const char *name);

/*
 * Returns the bytes of a call with these parameters, saturated. Sets the kind, which may be any
 * number.
 */
uint64_t api_amount_bytes(const struct api_amount *amount, const void *params);
uint32_t api_amount_kind(const struct api_amount *amount, const void *params);

/*
 * Returns whether a callback id belongs to a function newer than CUDA 13.0, the last release whose
 * functions were reviewed.
 */
bool api_function_is_new(uint32_t domain, uint32_t cbid);

#endif
