/* SPDX-License-Identifier: MIT */
/*
 * Sums all calls of the CUDA runtime and driver in a run (--api), over all processes. There is one
 * entry per function, and for copies one per direction.
 *
 * A runtime call makes driver calls, and both are counted. Driver calls made within another call
 * also count as `nested`. Calls minus nested calls are the calls that the program itself made.
 *
 * The numbers come from untrusted programs: sums saturate, and there are at most API_CALLS_MAX
 * entries.
 */
#ifndef PROFILER_MODEL_API_CALLS_H
#define PROFILER_MODEL_API_CALLS_H

#include <stdint.h>
#include "cupti_trace/wire/gpu_event.h"
#include "profiler/base/quota.h"
#include "symbolize/util/hash_index.h"

#define API_CALLS_MAX 4096u
#define API_CALL_ERRORS 16u

struct api_call {
	const char *name; /* function name as the program sent it; borrowed */
	uint32_t family, kind;
	uint64_t calls, ns, bytes, nested, nested_ns; /* as in struct gpu_event_calls */
	uint64_t shortest_ns, longest_ns;
	uint64_t returned, failed; /* number of `calls` that returned, and that failed */
	/* in order of first appearance; the last entry sums all other codes */
	struct gpu_call_error errors[API_CALL_ERRORS];
	uint64_t buckets[GPU_CALL_BUCKETS];
};

/* Zero-initialise: an empty table. */
struct api_calls {
	struct api_call **list;
	uint32_t count, capacity;
	struct hash_index index;
};

void api_calls_release(struct api_calls *calls);

/*
 * Finds or adds the entry of the event's function. A new entry's name is `keep(context, name)`.
 * Entries are charged to the quota `memory`, which may be NULL. Returns NULL if the table is full,
 * memory is short, or `keep` returns NULL.
 */
struct api_call *api_calls_get(struct api_calls *calls, const struct gpu_event_calls *event,
			       struct quota *memory,
			       const char *(*keep)(void *context, const char *name), void *context);

void api_call_add(struct api_call *call, const struct gpu_event_calls *event);

/*
 * Records the event through the sink, for --last. Notes have the time of their
 * arrival, at most 50 ms after the calls. The shortest and longest call of a part of the run are
 * accurate to an eighth.
 */
struct profile_sink;
struct profile_item;
void api_call_keep(struct api_call *call, const struct gpu_event_calls *event,
		   struct profile_sink *sink);

/*
 * Rebuild the table from the notes of a part of the run: clear the extremes, add each note, and
 * finally remove functions without calls.
 */
void api_calls_begin_part(struct api_calls *calls);
void api_calls_note(const struct profile_item *note);
void api_calls_end_part(struct api_calls *calls);

/*
 * Returns the quantile of the durations of returned calls, in ns: `thousandths` 500 is the median.
 * The value is at most an eighth too long, and never above `longest_ns`. Returns 0 if no call
 * returned.
 */
uint64_t api_call_quantile(const struct api_call *call, uint32_t thousandths);

/*
 * Returns "cudaMemcpyAsync, host to device" in `text`, or just the name if there is no direction.
 */
#define API_CALL_TEXT_BYTES (GPU_CALL_NAME_BYTES + 32)
const char *api_call_text(const struct api_call *call, char text[API_CALL_TEXT_BYTES]);

/* Returns the name of error `number`: "cudaErrorInvalidValue", "error 1234" or "others". */
#define API_CALL_ERROR_BYTES 64
const char *api_call_error_text(const struct api_call *call, uint32_t number,
				char text[API_CALL_ERROR_BYTES]);

#endif
