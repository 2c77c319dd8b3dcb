// SPDX-License-Identifier: MIT
#include "profiler/output/spans.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/output/trace_model.h"
#include "symbolize/array.h"

/* The launch of a flow. */
struct launched {
	uint64_t number, start_ns;
};

struct spans {
	const struct result *result;
	struct span_maker *maker;
	struct launched *launches; /* by flow */
	/* by track: the call that waits there; none if its kind is another one */
	struct span *waits;
	uint32_t wait_count, wait_capacity;
	int error;
};

/* A call that waits is added at its end, when its operation has been. 0 or -ENOMEM. */
static int begin_wait(struct spans *s, uint32_t track, struct span *span)
{
	if (track >= s->wait_count) {
		uint32_t more = track - s->wait_count + 1;

		if (!array_reserve(&s->waits, s->wait_count, more, &s->wait_capacity,
				   sizeof(*s->waits)))
			return -ENOMEM;
		memset(s->waits + s->wait_count, 0, more * sizeof(*s->waits));
		s->wait_count += more;
	}
	span->wait = span_maker_wait(s->maker, s->result, span);
	s->waits[track] = *span;
	return 0;
}

static void end_wait(struct spans *s, uint32_t track)
{
	if (track >= s->wait_count || s->waits[track].record.kind != TIMELINE_WAIT)
		return;
	s->error = span_maker_add(s->maker, s->result, &s->waits[track]);
	s->waits[track].record.kind = TIMELINE_CPU_SAMPLE;
}

static void add_record(struct spans *s, const struct trace_event *event)
{
	struct span span = {.record = *event->record, .stack = event->stack, .parent = SPAN_OF_RUN};

	if (span.record.kind != TIMELINE_GPU_OPERATION) {
		span.parent = span_maker_around(s->maker, s->result, &span.record);
	} else if (event->flow_count) {
		span.parent = s->launches[event->first_flow].number;
		span.launched_ns = s->launches[event->first_flow].start_ns;
	}
	if (span.record.kind == TIMELINE_LAUNCH)
		for (uint32_t i = 0; i < event->flow_count; i++)
			s->launches[event->first_flow + i] = (struct launched){
				span_of_call(s->result, &span.record), span.record.start_ns};
	if (span.record.kind == TIMELINE_WAIT && event->kind == TRACE_BEGIN)
		s->error = begin_wait(s, event->track, &span);
	else
		s->error = span_maker_add(s->maker, s->result, &span);
}

static void take_event(void *context, const struct trace_event *event)
{
	struct spans *s = context;

	if (s->error)
		return;
	if (event->kind == TRACE_BEGIN || event->kind == TRACE_INSTANT)
		add_record(s, event);
	else if (event->kind == TRACE_END)
		end_wait(s, event->track);
}

/* 0 or -errno. */
static int write_all(struct spans *s, struct trace_model *model, uint64_t *total)
{
	struct trace_sums sums = trace_model_sums(model);
	int err;

	*total = sums.records - sums.count[TIMELINE_CPU_SAMPLE] + 1;
	s->launches = calloc(sums.flows + 1, sizeof(*s->launches));
	if (!s->launches || !s->maker)
		return -ENOMEM;
	err = trace_model_run(model, take_event, s);
	if (!err)
		err = s->error;
	return err ? err : span_maker_end(s->maker, s->result, &sums);
}

int spans_write(const struct result *result, const struct span_options *options,
		enum otlp_encoding encoding,
		int (*put)(void *context, const void *request, size_t size, uint32_t spans),
		void *context, struct written *written, uint64_t *total)
{
	struct spans s = {.result = result};
	struct trace_model *model;
	int err;

	*written = (struct written){.items = 0};
	*total = 0;
	if (!(options->context.flags & TRACE_SAMPLED))
		return 0;
	model = trace_model_new(result);
	if (!model)
		return -errno;
	s.maker = span_maker_new(options, encoding, put, context);
	err = write_all(&s, model, total);
	if (s.maker)
		*written = span_maker_written(s.maker);
	span_maker_free(s.maker);
	free(s.launches);
	free(s.waits);
	trace_model_free(model);
	return err;
}

/* ---- files ---- */

static int put_into_file(void *context, const void *request, size_t size, uint32_t spans)
{
	(void)spans;
	errno = 0;
	return fwrite(request, 1, size, context) == size ? 0 : errno ? -errno : -EIO;
}

static int write_json(const struct result *result, const struct writer_options *options, FILE *out,
		      struct written *written)
{
	uint64_t total;

	return spans_write(result, options->spans, OTLP_JSON, put_into_file, out, written, &total);
}

static int write_protobuf(const struct result *result, const struct writer_options *options,
			  FILE *out, struct written *written)
{
	uint64_t total;

	return spans_write(result, options->spans, OTLP_PROTOBUF, put_into_file, out, written,
			   &total);
}

const struct writer otlp_json_writer = {.name = "otlp",
					.suffix = ".otlp.jsonl",
					.item = "span",
					.has_both_names = true,
					.needs = NEEDS_TIMELINE,
					.write = write_json};

const struct writer otlp_protobuf_writer = {.name = "otlp-protobuf",
					    .suffix = ".otlp.pb",
					    .item = "span",
					    .has_both_names = true,
					    .needs = NEEDS_TIMELINE,
					    .write = write_protobuf};
