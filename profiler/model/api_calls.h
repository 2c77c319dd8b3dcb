/* SPDX-License-Identifier: MIT */
/*
 * All calls of CUDA's runtime and driver in a run, by function and, of copies, by direction
 * (--api), over all processes.
 *
 * A call of the runtime makes calls of the driver; both are counted, and those of the driver that
 * are within another are known apart (`nested`), so that what the program itself called adds up.
 *
 * Programs send the numbers: sums are saturated, and there are at most API_CALLS_MAX entries.
 */
#ifndef PROFILER_MODEL_API_CALLS_H
#define PROFILER_MODEL_API_CALLS_H

#include <stdbool.h>
#include <stdint.h>
#include "cupti_trace/wire/gpu_event.h"
#include "profiler/base/quota.h"
#include "symbolize/util/hash_index.h"

#define API_CALLS_MAX 4096u
#define API_CALL_ERRORS 16u

struct api_call {
	const char *name; /* as programs write it; borrowed */
	uint32_t family, kind;
	uint64_t calls, ns, bytes, nested, nested_ns; /* as in struct gpu_event_calls */
	uint64_t shortest_ns, longest_ns;
	uint64_t returned, failed; /* of the calls */
	/* codes in the order in which they first came; the last place has all others */
	struct gpu_call_error errors[API_CALL_ERRORS];
	uint64_t buckets[GPU_CALL_BUCKETS];
};

/* Zero-initialised is empty. */
struct api_calls {
	struct api_call **list;
	uint32_t count, capacity;
	struct hash_index index;
};

void api_calls_release(struct api_calls *calls);

/*
 * The entry of a function, made if there is none, whose name is then `keep(context, name)`. NULL:
 * there is no room, or `keep` returns NULL. `memory`: what entries are taken from, or NULL.
 */
struct api_call *api_calls_get(struct api_calls *calls, const struct gpu_event_calls *event,
			       struct quota *memory,
			       const char *(*keep)(void *context, const char *name), void *context);

void api_call_add(struct api_call *call, const struct gpu_event_calls *event);

/*
 * Does the same where only the last seconds are wanted: sums are notes in the sink (NOTE_CALLS), as
 * of when they came, which is 50 ms after the calls at most. The shortest and the longest time of a
 * part are known to an eighth.
 */
struct profile_sink;
struct profile_item;
void api_call_keep(struct api_call *call, const struct gpu_event_calls *event,
		   struct profile_sink *sink);
/* Before the sink's notes are taken in; takes one in; afterwards: leaves out what was not called.
 */
void api_calls_begin_part(struct api_calls *calls);
void api_calls_note(const struct profile_item *note);
void api_calls_end_part(struct api_calls *calls);

/*
 * The duration that `thousandths` of the calls that returned did not exceed: at most an eighth too
 * long, and never longer than the longest. 0: none returned.
 */
uint64_t api_call_quantile(const struct api_call *call, uint32_t thousandths);

/* "cudaMemcpyAsync, host to device": `text` if there is a direction, else the name. */
#define API_CALL_TEXT_BYTES (GPU_CALL_NAME_BYTES + 32)
const char *api_call_text(const struct api_call *call, char text[API_CALL_TEXT_BYTES]);

/* "cudaErrorInvalidValue", "error 1234", "others": of entry `number` of its errors. */
#define API_CALL_ERROR_BYTES 64
const char *api_call_error_text(const struct api_call *call, uint32_t number,
				char text[API_CALL_ERROR_BYTES]);

#endif
