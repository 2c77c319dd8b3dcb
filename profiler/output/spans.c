// SPDX-License-Identifier: MIT
#include "profiler/output/spans.h"

#include <errno.h>
#include <stdlib.h>
#include "profiler/output/trace_model.h"

struct spans {
	const struct result *result;
	struct span_maker *maker;
	uint64_t *launches; /* by flow: the number of the launch's span */
	int error;
};

static void add_record(struct spans *s, const struct trace_event *event)
{
	struct span span = {.record = *event->record, .stack = event->stack, .parent = SPAN_OF_RUN};

	if (span.record.kind != TIMELINE_GPU_OPERATION)
		span.parent = span_maker_around(s->maker, s->result, &span.record);
	else if (event->flow_count)
		span.parent = s->launches[event->first_flow];
	if (span.record.kind == TIMELINE_LAUNCH)
		for (uint32_t i = 0; i < event->flow_count; i++)
			s->launches[event->first_flow + i] = span_of_call(s->result, &span.record);
	s->error = span_maker_add(s->maker, s->result, &span);
}

static void take_event(void *context, const struct trace_event *event)
{
	struct spans *s = context;

	if (!s->error && (event->kind == TRACE_BEGIN || event->kind == TRACE_INSTANT))
		add_record(s, event);
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
