/* SPDX-License-Identifier: MIT */
/*
 * Finds the operation that a call waited for, if the call waits for one stream.
 *
 * It is the last operation to end during the call, of those surely launched before the call
 * began.
 *
 * Add operations in the order of their starts. Ask for a call once all operations are added that
 * began up to SPAN_LINKS_CLOCK_ERROR_NS after its end. A link that may be wrong is not made. The
 * operation is unknown in these cases:
 *  - Another operation that ended later during the call may be the one. Its launch is unknown, or
 *    overlaps the begin of the call in another thread, so their order is unknown. Or it is older
 *    than the operations that are kept of the stream.
 *  - An operation that was launched before seems to end after the call. Or it ends so close to
 *    the call's begin that clock errors decide.
 *
 * Bounded: 1 KiB for each of SPAN_LINKS_STREAMS streams. Nothing is known of further streams.
 */
#ifndef PROFILER_FORMATS_SPAN_LINKS_H
#define PROFILER_FORMATS_SPAN_LINKS_H

#include <stdbool.h>
#include <stdint.h>

#define SPAN_LINKS_STREAMS 4096u
#define SPAN_LINKS_OPERATIONS 32u /* kept for each stream */
/* Error between the clock of operations and that of calls (addons/waits.h). */
#define SPAN_LINKS_CLOCK_ERROR_NS 5000u

struct link_stream_key {
	uint32_t process, context, stream;
};

/* Times are CLOCK_MONOTONIC, ns. */
struct link_operation {
	uint64_t launch_start_ns, launch_end_ns; /* 0: unknown */
	uint64_t end_ns;
	uint64_t number; /* not 0 */
};

struct span_links;

/* Returns NULL if out of memory. */
struct span_links *span_links_new(void);
void span_links_free(struct span_links *l);

/* Adds an operation. Returns 0, or -ENOMEM. */
int span_links_add(struct span_links *l, struct link_stream_key key,
		   const struct link_operation *operation);

/* Returns the number of the operation that a call waited for; 0 if none ran, or it is `*unknown`.
 */
uint64_t span_links_find(const struct span_links *l, struct link_stream_key key, uint64_t start_ns,
			 uint64_t end_ns, bool *unknown);

#endif
