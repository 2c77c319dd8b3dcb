/* SPDX-License-Identifier: MIT */
/*
 * Which operation a call waited for that waits for one stream: of those that are sure to have been
 * launched before it began, the one that ended last while it went on.
 *
 * The input: operations in the order in which they began; calls when all operations that began
 * before their ends, and SPAN_LINKS_CLOCK_ERROR_NS after them, have been added. A link that may be
 * wrong is none. So it is not known what a call waited for if
 *  - another one that ended while the call went on, and no sooner, may be the one: its launch is
 *    not known, or went on in another thread when the call began, so which came first is not
 *    known; or it is older than the operations that are kept of the stream;
 *  - an operation that was launched before seems to have ended after the call, or so close to its
 *    beginning that the errors of the clocks decide.
 *
 * Bounded: 1 KiB for each of SPAN_LINKS_STREAMS streams. Of further ones nothing is known.
 */
#ifndef PROFILER_FORMATS_SPAN_LINKS_H
#define PROFILER_FORMATS_SPAN_LINKS_H

#include <stdbool.h>
#include <stdint.h>

#define SPAN_LINKS_STREAMS 4096u
#define SPAN_LINKS_OPERATIONS 32u /* kept of each stream */
/* Ends of operations and calls are of two clocks (addons/waits.h). */
#define SPAN_LINKS_CLOCK_ERROR_NS 5000u

struct link_stream_key {
	uint32_t process, context, stream;
};

/* Times are CLOCK_MONOTONIC, ns. */
struct link_operation {
	uint64_t launch_start_ns, launch_end_ns; /* 0: not known */
	uint64_t end_ns;
	uint64_t number; /* not 0 */
};

struct span_links;

/* NULL: out of memory. */
struct span_links *span_links_new(void);
void span_links_free(struct span_links *l);

/* 0 or -ENOMEM. */
int span_links_add(struct span_links *l, struct link_stream_key key,
		   const struct link_operation *operation);

/* The number of the operation that the call waited for; 0: nothing ran, or it is `*unknown`. */
uint64_t span_links_find(const struct span_links *l, struct link_stream_key key, uint64_t start_ns,
			 uint64_t end_ns, bool *unknown);

#endif
