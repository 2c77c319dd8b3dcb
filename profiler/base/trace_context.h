/* SPDX-License-Identifier: MIT */
/*
 * The trace that spans belong to, and their numbers in it.
 *
 * A caller that traces itself passes its trace on in TRACEPARENT and TRACESTATE, as W3C's Trace
 * Context (www.w3.org/TR/trace-context) writes the HTTP headers of the same names:
 *
 *	TRACEPARENT=00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01
 *
 * They are read strictly: what the recommendation does not allow is no context at all. Without a
 * context a trace begins, with a random number.
 *
 * A span's number is computed from its place in the run, so that whoever writes a span knows those
 * of its parents without having kept them. Spans of two contexts have different numbers.
 */
#ifndef PROFILER_BASE_TRACE_CONTEXT_H
#define PROFILER_BASE_TRACE_CONTEXT_H

#include <stdbool.h>
#include <stdint.h>

#define TRACE_ID_BYTES 16
#define SPAN_ID_BYTES 8
#define TRACE_STATE_BYTES 512 /* a longer one is not passed on */

/* Flags of a trace. */
#define TRACE_SAMPLED 0x01u
#define TRACE_ID_IS_RANDOM 0x02u

struct trace_context {
	uint8_t trace_id[TRACE_ID_BYTES];
	uint8_t parent_id[SPAN_ID_BYTES]; /* the caller's span; all 0: none */
	bool has_parent;
	uint8_t flags; /* without TRACE_SAMPLED nobody records the trace */
	char state[TRACE_STATE_BYTES + 1];
	uint64_t seed; /* of the spans' numbers */
};

/* A trace of its own. 0 or -errno: there are no random numbers. */
int trace_context_begin(struct trace_context *context);

/*
 * The caller's trace. `state`: NULL: none; one that is not valid is left out. 0, -EINVAL: `parent`
 * is not valid; or another -errno.
 */
int trace_context_continue(struct trace_context *context, const char *parent, const char *state);

/* The number of the span at a place in the run; never all 0, and different for each place. */
void trace_context_span_id(const struct trace_context *context, uint64_t place,
			   uint8_t id[SPAN_ID_BYTES]);

#endif
