// SPDX-License-Identifier: MIT
#include "profiler/formats/spans.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/formats/span_links.h"
#include "profiler/formats/trace_model.h"
#include "symbolize/util/array.h"
#include "symbolize/util/saturate.h"

/* The launch of a flow. */
struct launched {
	uint64_t number, start_ns, end_ns;
};

struct spans {
	const struct result *result;
	struct span_maker *maker;
	struct launched *launches; /* by flow */
	struct span_links *links;  /* NULL: no links, because operations are missing */
	/* by track: the wait for a stream that is open; none if it is not of TIMELINE_WAIT */
	struct span *waits;
	uint32_t wait_count, wait_capacity;
	/* queue of finished waits, by their ends, until all earlier operations are known */
	struct span *over;
	uint32_t first_over, over_count, over_capacity;
	int error;
};

/* ---- links ---- */

static void add_missing(void *context, const char *name, const char *text, uint64_t count)
{
	static const char *const names[] = {"gpu_operations_dropped",
					    "gpu_operations_missing",
					    "gpu_operations_unmatched",
					    "lines_malformed",
					    "lines_refused",
					    "writes_lost",
					    "bytes_left_in_pipe",
					    "processes_without_goodbye",
					    "events_out_of_memory",
					    "timeline_records_lost",
					    "gpu_operations_without_times"};

	(void)text;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strcmp(name, names[i]) == 0)
			saturated_add(context, count);
}

/*
 * Returns whether the run has all its operations. A missing one may be what a call waited for.
 */
static bool is_complete(const struct result *result, const struct trace_sums *sums)
{
	uint64_t missing = 0;

	trace_facts(result, sums, add_missing, &missing);
	return !missing && !result->totals.shown;
}

static struct link_stream_key stream_of(const struct spans *s, const struct timeline_record *record)
{
	const uint32_t *part = s->result->places[record->place.number].part;

	return (struct link_stream_key){part[PLACE_PROCESS], part[PLACE_CONTEXT],
					part[PLACE_STREAM]};
}

/* Keeps a wait until its end. Returns 0, or -ENOMEM. */
static int begin_wait(struct spans *s, uint32_t track, const struct span *span)
{
	if (!array_extend(&s->waits, &s->wait_count, track + 1, &s->wait_capacity,
			  sizeof(*s->waits)))
		return -ENOMEM;
	s->waits[track] = *span;
	return 0;
}

static int end_wait(struct spans *s, uint32_t track)
{
	if (track >= s->wait_count || s->waits[track].record.kind != TIMELINE_WAIT)
		return 0;
	if (s->first_over == s->over_count)
		s->first_over = s->over_count = 0;
	if (!array_make_room(&s->over, s->over_count, &s->over_capacity, sizeof(*s->over)))
		return -ENOMEM;
	s->over[s->over_count++] = s->waits[track];
	s->waits[track].record.kind = TIMELINE_CPU_SAMPLE;
	return 0;
}

/* Adds waits that ended before `time_ns`, less the clock error. UINT64_MAX: all waits. */
static void add_waits(struct spans *s, uint64_t time_ns)
{
	while (!s->error && s->first_over < s->over_count) {
		struct span *span = &s->over[s->first_over];
		uint64_t start_ns = span->record.start_ns;
		uint64_t end_ns = timeline_end_ns(&span->record);

		if (time_ns != UINT64_MAX &&
		    saturated_sum(end_ns, SPAN_LINKS_CLOCK_ERROR_NS) >= time_ns)
			return;
		span->link = span_links_find(s->links, stream_of(s, &span->record), start_ns,
					     end_ns, &span->is_link_dropped);
		s->error = span_maker_add(s->maker, s->result, span);
		s->first_over++;
	}
}

/* Adds the operation of the span that was added last, for links. */
static int add_operation(struct spans *s, const struct timeline_record *record,
			 const struct launched *launch)
{
	const struct link_operation operation = {launch->start_ns, launch->end_ns,
						 timeline_end_ns(record),
						 span_maker_number(s->maker)};

	return span_links_add(s->links, stream_of(s, record), &operation);
}

/* ---- records ---- */

static void add_record(struct spans *s, const struct trace_event *event)
{
	struct span span = {.record = *event->record, .stack = event->stack};
	const struct timeline_record *record = &span.record;
	struct launched launch = {.number = SPAN_OF_RUN};
	bool is_operation = record->kind == TIMELINE_GPU_OPERATION;
	bool waits = span_waits_for_stream(s->result, record);

	if (record->kind == TIMELINE_OFF_CPU)
		return;
	if (is_operation && event->flow_count)
		launch = s->launches[event->first_flow];
	span.parent = is_operation ? launch.number : span_maker_around(s->maker, s->result, record);
	if (record->kind == TIMELINE_LAUNCH) {
		launch = (struct launched){span_of_call(s->result, record), record->start_ns,
					   record->duration_ns ? timeline_end_ns(record) : 0};
		for (uint32_t i = 0; i < event->flow_count; i++)
			s->launches[event->first_flow + i] = launch;
	}
	span.is_link_dropped = waits && !s->links;
	if (waits && s->links) {
		s->error = begin_wait(s, event->track, &span);
		return;
	}
	s->error = span_maker_add(s->maker, s->result, &span);
	if (!s->error && s->links && is_operation && record->duration_ns)
		s->error = add_operation(s, record, &launch);
}

static void take_event(void *context, const struct trace_event *event)
{
	struct spans *s = context;

	if (event->kind != TRACE_TRACK)
		add_waits(s, event->time_ns);
	if (s->error)
		return;
	if (event->kind == TRACE_BEGIN || event->kind == TRACE_INSTANT)
		add_record(s, event);
	else if (event->kind == TRACE_END)
		s->error = end_wait(s, event->track);
}

/* ---- for callers ---- */

/* Writes all spans. Returns 0, or -errno. */
static int write_all(struct spans *s, struct trace_model *model, uint64_t *total)
{
	struct trace_sums sums = trace_model_sums(model);
	int err;

	*total = trace_sums_spans(&sums) + 1;
	s->launches = calloc(sums.flows + 1, sizeof(*s->launches));
	if (!s->launches || !s->maker)
		return -ENOMEM;
	if (is_complete(s->result, &sums) && !(s->links = span_links_new()))
		return -ENOMEM;
	err = trace_model_run(model, take_event, s);
	add_waits(s, UINT64_MAX);
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
	free(s.over);
	span_links_free(s.links);
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
					.is_timeline = true,
					.write = write_json};

const struct writer otlp_protobuf_writer = {.name = "otlp-protobuf",
					    .suffix = ".otlp.pb",
					    .item = "span",
					    .has_both_names = true,
					    .needs = NEEDS_TIMELINE,
					    .is_timeline = true,
					    .write = write_protobuf};
