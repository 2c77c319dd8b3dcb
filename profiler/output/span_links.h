/* SPDX-License-Identifier: MIT */
/*
 * Which operation a call waited for: of those that were launched on its stream before the call
 * began, the one that ended last while it went on. Streams run in order, so the call returned when
 * that one had ended.
 *
 * The input: calls that wait, and operations when they have a number, each in about the order in
 * which they end; calls and operations may come in any order relative to each other, as long as a
 * call is not later than the last few operations of its stream. A call is asked for its operation
 * once, when those that it may have waited for have been added. One that waits for a whole context,
 * and not for a stream, has an operation only as long as its process has used no other context: of
 * which context it is, is not known.
 *
 * Bounded: SPAN_LINKS_WAITS calls at a time, SPAN_LINKS_STREAMS streams of which the last
 * operations are kept, 4 bytes for each process, and steps for each call and operation. A call that
 * there is no room for is told so.
 */
#ifndef PROFILER_OUTPUT_SPAN_LINKS_H
#define PROFILER_OUTPUT_SPAN_LINKS_H

#include <stdbool.h>
#include <stdint.h>

#ifndef SPAN_LINKS_WAITS         /* tests use fewer */
#define SPAN_LINKS_WAITS 8192u   /* 48 bytes each */
#define SPAN_LINKS_STREAMS 4096u /* 232 bytes each; a multiple of 8 */
#endif
#define SPAN_LINKS_ANY UINT32_MAX /* the context and stream of a call that waits for all */

struct link_stream_key {
	uint32_t process, context, stream;
};

/* Times are CLOCK_MONOTONIC, ns. */
struct link_operation {
	uint64_t launched_ns, end_ns; /* when its launch began; 0: not known */
	uint64_t number;              /* not 0 */
};

struct span_links;

/* NULL: out of memory. */
struct span_links *span_links_new(void);
void span_links_free(struct span_links *l);

/* A ticket for span_links_end, never 0. */
uint32_t span_links_wait(struct span_links *l, struct link_stream_key key, uint64_t start_ns,
			 uint64_t end_ns);

void span_links_operation(struct span_links *l, struct link_stream_key key,
			  const struct link_operation *operation);

/* The number of the operation that the call waited for; 0: none is known. `*dropped`: there was no
 * room to find out. The ticket is void. */
uint64_t span_links_end(struct span_links *l, uint32_t ticket, bool *dropped);

#endif
