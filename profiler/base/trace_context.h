/* SPDX-License-Identifier: MIT */
/*
 * Identifies the trace that spans belong to, and numbers the spans.
 *
 * A caller passes its own trace on in the variables TRACEPARENT and TRACESTATE. Their format is
 * that of the HTTP headers of W3C's Trace Context (www.w3.org/TR/trace-context):
 *
 *	TRACEPARENT=00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01
 *
 * Parsing is strict: an invalid context counts as none. Without a context a new trace with a random
 * id begins.
 *
 * A span's id is computed from its place in the run. So a writer knows the ids of a span's parents
 * without storing them. Spans of two contexts have different ids.
 */
#ifndef PROFILER_BASE_TRACE_CONTEXT_H
#define PROFILER_BASE_TRACE_CONTEXT_H

#include <stdbool.h>
#include <stdint.h>

#define TRACE_ID_BYTES 16
#define SPAN_ID_BYTES 8
#define TRACE_STATE_BYTES 512 /* longer states are dropped */

/* Trace flags. */
#define TRACE_SAMPLED 0x01u
#define TRACE_ID_IS_RANDOM 0x02u

struct trace_context {
	uint8_t trace_id[TRACE_ID_BYTES];
	uint8_t parent_id[SPAN_ID_BYTES]; /* caller's span id; all 0 if there is none */
	bool has_parent;
	uint8_t flags; /* TRACE_SAMPLED clear: the trace is not recorded */
	char state[TRACE_STATE_BYTES + 1];
	uint64_t seed; /* seed of span ids */
};

/* Starts a new trace. Returns 0, or -errno if there are no random numbers. */
int trace_context_begin(struct trace_context *context);

/*
 * Continues the caller's trace. `state` may be NULL; an invalid one is dropped. Returns 0, or
 * -errno. -EINVAL: `parent` is invalid.
 */
int trace_context_continue(struct trace_context *context, const char *parent, const char *state);

/*
 * Computes the id of the span at `place` in the run. Ids are never all 0, and differ between
 * places.
 */
void trace_context_span_id(const struct trace_context *context, uint64_t place,
			   uint8_t id[SPAN_ID_BYTES]);

#endif
