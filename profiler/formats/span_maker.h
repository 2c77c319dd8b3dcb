/* SPDX-License-Identifier: MIT */
/*
 * Makes OpenTelemetry spans from the records of a run: docs/otlp.md describes their contents.
 * Both spans.h (at the end of a run) and live_spans.h (during a run) use it.
 *
 *	span_maker_add(maker, result, &span);	... each call and each operation
 *	span_maker_end(maker, result, &sums);	the rest, and the run's own span
 *
 * Spans leave in the order in which they were added, in requests of SPANS_IN_REQUEST at most. A
 * request is a whole ExportTraceServiceRequest (opentelemetry/proto/collector/trace/v1), with a
 * resource for each process. Memory is one request, and 48 bytes for each thread that made calls.
 *
 * A span's number in the trace is a hash of what identifies it. For a call that is its process,
 * its correlation id or thread, and its start; for an operation its place on the GPU, its times
 * and its work. So an operation knows the number of the call that started it, without any state.
 * A span has one id wherever and whenever it is made: in files, at collectors, from a capture.
 * Two spans collide with a chance of one in 2^63.
 *
 * A call may be linked to the operation that it waited for: spans.h.
 *
 * Functions that send return 0, -ENOMEM, or what `put` returned. On error the spans of that
 * request are lost; further spans may be added.
 */
#ifndef PROFILER_FORMATS_SPAN_MAKER_H
#define PROFILER_FORMATS_SPAN_MAKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "profiler/base/trace_context.h"
#include "profiler/formats/otlp.h"
#include "profiler/formats/trace_model.h"
#include "profiler/model/result.h"

#define SPANS_IN_REQUEST 512u

struct span_attribute {
	const char *key, *value;
};

/* Strings are borrowed. */
struct span_options {
	struct trace_context context; /* without TRACE_SAMPLED there are no spans */
	const char *service;          /* NULL: the name of the command's executable */
	/* added to all resources; replaces our attribute with that key; keys are distinct */
	const struct span_attribute *resource;
	uint32_t resource_count;
	bool has_stacks; /* add stacks to calls */
};

#define SPAN_OF_RUN 0u /* the number of the run's own span */

/* A call or an operation. The maker sets the last three members. */
struct span {
	struct timeline_record record; /* `place` is one of the result's */
	uint32_t stack;                /* result_record_stack */
	uint64_t parent;               /* a call's number, or SPAN_OF_RUN */
	uint64_t link;                 /* operation that a call waited for; 0: none */
	bool is_link_dropped;          /* a link may exist, but is not known */
	uint64_t number;
	uint32_t process, position;
};

struct span_maker;

/*
 * Returns a maker, or NULL if out of memory. `put` gets each request and the number of its spans.
 * It returns 0, or -errno. The options are borrowed.
 */
struct span_maker *span_maker_new(const struct span_options *options, enum otlp_encoding encoding,
				  int (*put)(void *context, const void *request, size_t size,
					     uint32_t spans),
				  void *context);
void span_maker_free(struct span_maker *maker);

/* Returns the number of a call, or of a launch by its start and its correlation id, not 0. */
uint64_t span_of_call(const struct result *result, const struct timeline_record *record);
uint64_t span_of_launch(uint32_t process, uint32_t correlation, uint64_t start_ns);

/*
 * Returns the number of the outer call that a call is nested in, or SPAN_OF_RUN. Ask for all
 * calls in the order of their starts. The last calls of a thread may be asked for again, with
 * further calls among them.
 */
uint64_t span_maker_around(struct span_maker *maker, const struct result *result,
			   const struct timeline_record *record);

/* Returns whether a call waited successfully for one stream that is known. */
bool span_waits_for_stream(const struct result *result, const struct timeline_record *record);

/*
 * Adds a span. Calls may pass different results, if each has the places and stacks of all spans
 * not sent yet.
 */
int span_maker_add(struct span_maker *maker, const struct result *result, const struct span *span);

/* Returns the number of the span that was added last. */
uint64_t span_maker_number(const struct span_maker *maker);

/* Sends the spans that were added. */
int span_maker_flush(struct span_maker *maker, const struct result *result);

/*
 * Sends the spans that were added, and then the run's own span. That has the result's name, exit
 * status, sums and losses.
 */
int span_maker_end(struct span_maker *maker, const struct result *result,
		   const struct trace_sums *sums);

/* Returns what was sent so far. */
struct written span_maker_written(const struct span_maker *maker);

#endif
