/* SPDX-License-Identifier: MIT */
/*
 * Makes spans of OpenTelemetry of a run's records: docs/otlp.md has all that is in them. The one
 * place where spans are made, whether at the end of a run (spans.h) or while it goes on
 * (live_spans.h).
 *
 *	span_maker_add(maker, result, &span);	... each call and each operation
 *	span_maker_end(maker, result, &sums);	the rest, and the run's own span
 *
 * Spans leave in requests of SPANS_IN_REQUEST at most, in the order in which they were added: each
 * is a whole ExportTraceServiceRequest (opentelemetry/proto/collector/trace/v1), with a resource
 * for each process. In memory are one request, 48 bytes for each thread that made calls.
 *
 * A span's number in the trace is computed from what it is of: a call's process, its correlation id
 * or thread, its start; an operation's place on the GPU, its times and its work. So an operation
 * knows the number of the call that started it without anything having been kept, and a span has
 * the same id wherever and whenever it is made: in files, at collectors, from a capture. Two spans
 * have the same number with a chance of one in 2^63.
 *
 * A call may be linked to the operation that it waited for: spans.h.
 *
 * Functions that send return 0; -ENOMEM; or what `put` returned. Then the spans of that request are
 * lost, and the next ones may be added.
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
	/* of all resources, in place of ours with the same key; no key is there twice */
	const struct span_attribute *resource;
	uint32_t resource_count;
	bool has_stacks; /* calls have their stacks */
};

#define SPAN_OF_RUN 0u /* the number of the run's own span */

/* A call or an operation. The last three are the maker's. */
struct span {
	struct timeline_record record; /* its place is one of the result's */
	uint32_t stack;                /* of the result: result_record_stack */
	uint64_t parent;               /* a call's number, or SPAN_OF_RUN */
	uint64_t link;                 /* of a call: the operation's number; 0: none */
	bool is_link_dropped;          /* there may be one, but it is not known */
	uint64_t number;
	uint32_t process, position;
};

struct span_maker;

/*
 * `put` gets each request and the number of its spans; it returns 0, or -errno. The options are
 * borrowed. NULL: out of memory.
 */
struct span_maker *span_maker_new(const struct span_options *options, enum otlp_encoding encoding,
				  int (*put)(void *context, const void *request, size_t size,
					     uint32_t spans),
				  void *context);
void span_maker_free(struct span_maker *maker);

/* The number of a call; and of the launch that began then with a correlation id, which is not 0. */
uint64_t span_of_call(const struct result *result, const struct timeline_record *record);
uint64_t span_of_launch(uint32_t process, uint32_t correlation, uint64_t start_ns);

/*
 * The number of the call of its thread that a call is within, or SPAN_OF_RUN. To be asked of all
 * calls in the order of their starts; of the last ones of a thread it may be asked again, with
 * others among them.
 */
uint64_t span_maker_around(struct span_maker *maker, const struct result *result,
			   const struct timeline_record *record);

/* Returns whether a call is a wait, to its end, for one stream that is known. */
bool span_waits_for_stream(const struct result *result, const struct timeline_record *record);

/* `result` may be another one in each call, as long as it has the places and stacks of the spans
 * that wait for their request. */
int span_maker_add(struct span_maker *maker, const struct result *result, const struct span *span);

/* The number of the span that was added last. */
uint64_t span_maker_number(const struct span_maker *maker);

/* Sends what has been added. */
int span_maker_flush(struct span_maker *maker, const struct result *result);

/*
 * Does the same, and then adds the run's own span: its name, exit status, sums and losses are the
 * result's.
 */
int span_maker_end(struct span_maker *maker, const struct result *result,
		   const struct trace_sums *sums);

/* Returns what was put so far. */
struct written span_maker_written(const struct span_maker *maker);

#endif
