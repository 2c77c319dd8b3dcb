// SPDX-License-Identifier: MIT
#include "profiler/output/spans.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/base/command_text.h"
#include "profiler/base/saturate.h"
#include "profiler/base/version.h"
#include "profiler/output/trace_model.h"
#include "profiler/profile/work_names.h"
#include "symbolize/text.h"

/* opentelemetry/proto/collector/trace/v1/trace_service.proto, trace/v1, resource/v1, common/v1 */
enum { REQUEST_RESOURCE_SPANS = 1 };
enum { RESOURCE_SPANS_RESOURCE = 1, RESOURCE_SPANS_SCOPE_SPANS, RESOURCE_SPANS_SCHEMA };
enum { RESOURCE_ATTRIBUTES = 1 };
enum { SCOPE_SPANS_SCOPE = 1, SCOPE_SPANS_SPANS };
enum { SCOPE_NAME = 1, SCOPE_VERSION };
enum {
	SPAN_TRACE_ID = 1,
	SPAN_ID,
	SPAN_STATE,
	SPAN_PARENT,
	SPAN_NAME,
	SPAN_KIND,
	SPAN_START,
	SPAN_END,
	SPAN_ATTRIBUTES,
	SPAN_STATUS = 15,
	SPAN_FLAGS
};
enum { STATUS_MESSAGE = 2, STATUS_CODE };
enum { STATUS_ERROR = 2 };
enum { KIND_INTERNAL = 1 };

/* Beside the trace's own: whether the parent is of another process is known, and so it is. */
#define FLAG_HAS_REMOTE 0x100u
#define FLAG_IS_REMOTE 0x200u

/* Semantic conventions that have all of the attributes which are not ours. */
#define SCHEMA "https://opentelemetry.io/schemas/1.34.0"

#define NAME_BYTES 256 /* of a span's name */
#define RUN 0u         /* the number of the run's span; others count from 1 */
#define NO_NUMBER UINT32_MAX

struct span {
	struct timeline_record record;
	uint32_t stack; /* result_record_stack */
	uint32_t number, parent;
	uint32_t process; /* its track */
};

/* The outermost call of a thread that may still be going on. */
struct outer_call {
	uint64_t end_ns;
	uint32_t number; /* RUN: none */
};

struct spans {
	const struct result *result;
	const struct span_options *options;
	const struct trace_tracks *tracks;
	struct trace_model *model;
	enum otlp_encoding encoding;
	struct otlp otlp;
	char **command;            /* its words */
	uint32_t *launches;        /* by flow: the number of the launch's span */
	struct outer_call *outers; /* by track of a thread */
	struct span *batch;
	uint32_t batch_count, last_number;
	uint64_t first_ns, last_ns; /* of the spans, and of the run */
	int (*put)(void *context, const void *request, size_t size, uint32_t spans);
	void *context;
	struct written *written;
	uint64_t *total;
	int error;
};

static uint64_t end_of(const struct timeline_record *record)
{
	return saturated_sum(record->start_ns, record->duration_ns);
}

/* ---- resources ---- */

static bool is_given(const struct spans *s, const char *key)
{
	for (uint32_t i = 0; i < s->options->resource_count; i++)
		if (strcmp(s->options->resource[i].key, key) == 0)
			return true;
	return false;
}

/* What the user gives takes precedence. */
static void put_resource_text(struct spans *s, const char *key, const char *value)
{
	if (value && *value && !is_given(s, key))
		otlp_attribute_text(&s->otlp, key, value);
}

static const char *command_name(const struct spans *s)
{
	return s->command[0] && *base_name(s->command[0]) ? base_name(s->command[0]) : "unknown";
}

/* `process`: its track; NO_NUMBER: the command's, which has none. */
static void put_resource(struct spans *s, uint32_t process)
{
	const struct totals *t = &s->result->totals;
	const struct trace_track *track = process == NO_NUMBER ? NULL : &s->tracks->list[process];
	uint32_t pid = track ? trace_track_pid(s->result, track) : t->command_pid;
	bool is_command = !track || (pid && pid == t->command_pid);
	char name[TRACE_NAME_BYTES];
	struct otlp *o = &s->otlp;

	if (!is_command)
		trace_track_name(s->result, track, name);
	otlp_open(o, RESOURCE_SPANS_RESOURCE, "resource");
	otlp_open_attributes(o, RESOURCE_ATTRIBUTES);
	if (s->options->service || !is_given(s, "service.name"))
		otlp_attribute_text(o, "service.name",
				    s->options->service ? s->options->service : command_name(s));
	for (uint32_t i = 0; i < s->options->resource_count; i++)
		if (!s->options->service ||
		    strcmp(s->options->resource[i].key, "service.name") != 0)
			otlp_attribute_text(o, s->options->resource[i].key,
					    s->options->resource[i].value);
	put_resource_text(s, "host.name", t->host);
	if (pid && !is_given(s, "process.pid"))
		otlp_attribute_uint(o, "process.pid", pid);
	put_resource_text(s, "process.executable.name", is_command ? command_name(s) : name);
	if (is_command && s->command[0] && !is_given(s, "process.command_args"))
		otlp_attribute_texts(o, "process.command_args", s->command);
	if (is_command && !t->program) /* else the folder is only ours */
		put_resource_text(s, "process.working_directory", t->folder);
	put_resource_text(s, "telemetry.sdk.name", "profile");
	put_resource_text(s, "telemetry.sdk.language", "c");
	put_resource_text(s, "telemetry.sdk.version", PROFILE_VERSION);
	otlp_close_attributes(o);
	otlp_close(o);
}

/* ---- spans ---- */

/* Since 1970, as far as that is known. */
static uint64_t unix_ns(const struct spans *s, uint64_t ns)
{
	const struct totals *t = &s->result->totals;
	uint64_t before = t->start_ns > ns ? t->start_ns - ns : 0;

	if (!t->start_unix_ns)
		return ns;
	if (before)
		return t->start_unix_ns > before ? t->start_unix_ns - before : 0;
	return saturated_sum(t->start_unix_ns, ns - t->start_ns);
}

static void open_span(struct spans *s, uint32_t number, uint32_t parent, const char *name)
{
	const struct trace_context *context = &s->options->context;
	uint8_t id[SPAN_ID_BYTES];
	struct otlp *o = &s->otlp;

	otlp_open(o, SCOPE_SPANS_SPANS, NULL);
	otlp_id(o, SPAN_TRACE_ID, "traceId", context->trace_id, TRACE_ID_BYTES);
	trace_context_span_id(context, number, id);
	otlp_id(o, SPAN_ID, "spanId", id, SPAN_ID_BYTES);
	if (context->state[0])
		otlp_text(o, SPAN_STATE, "traceState", context->state);
	if (number != RUN) {
		trace_context_span_id(context, parent, id);
		otlp_id(o, SPAN_PARENT, "parentSpanId", id, SPAN_ID_BYTES);
	} else if (context->has_parent) {
		otlp_id(o, SPAN_PARENT, "parentSpanId", context->parent_id, SPAN_ID_BYTES);
	}
	otlp_text(o, SPAN_NAME, "name", name);
	otlp_uint(o, SPAN_KIND, "kind", KIND_INTERNAL);
}

static void close_span(struct spans *s, bool is_parent_remote)
{
	otlp_fixed32(&s->otlp, SPAN_FLAGS, "flags",
		     s->options->context.flags | FLAG_HAS_REMOTE |
			     (is_parent_remote ? FLAG_IS_REMOTE : 0));
	otlp_close(&s->otlp);
}

static void put_times(struct spans *s, uint64_t start_ns, uint64_t end_ns)
{
	otlp_fixed64(&s->otlp, SPAN_START, "startTimeUnixNano", unix_ns(s, start_ns));
	otlp_fixed64(&s->otlp, SPAN_END, "endTimeUnixNano", unix_ns(s, end_ns));
}

/* A name in little room, whole characters of it. */
static void shorten(const char *text, char name[NAME_BYTES + 1])
{
	size_t length = 0, n = 0;

	for (; text[length] && length + n <= NAME_BYTES; length += n) {
		n = count_utf8_bytes((const unsigned char *)text + length);
		n += n == 0;
		if (length + n > NAME_BYTES)
			break;
	}
	memcpy(name, text, length);
	name[length] = '\0';
}

static void put_part(struct spans *s, const char *key, uint32_t part)
{
	if (part != PLACE_UNKNOWN)
		otlp_attribute_uint(&s->otlp, key, part);
}

static void put_device(struct spans *s, const struct place *place)
{
	const struct device *device = devices_find(
		s->result->device_names, place->part[PLACE_PROCESS], place->part[PLACE_DEVICE]);
	char uuid[DEVICE_UUID_BYTES];

	put_part(s, "cuda.device.id", place->part[PLACE_DEVICE]);
	if (!device || !device->is_described)
		return;
	otlp_attribute_text(&s->otlp, "cuda.device.name", device->name);
	if (*device_uuid(device, uuid))
		otlp_attribute_text(&s->otlp, "cuda.device.uuid", uuid);
}

static void put_shape(struct spans *s, const struct timeline_shape *shape)
{
	struct otlp *o = &s->otlp;

	otlp_attribute_uints(o, "cuda.kernel.grid", shape->grid, 3);
	otlp_attribute_uints(o, "cuda.kernel.block", shape->block, 3);
	otlp_attribute_uint(o, "cuda.kernel.registers", shape->registers);
	otlp_attribute_uint(o, "cuda.kernel.shared_memory",
			    (uint64_t)shape->static_shared + shape->dynamic_shared);
}

static void put_operation(struct spans *s, const struct span *span)
{
	const struct timeline_record *record = &span->record;
	const struct timeline_shape *shape = timeline_shape(s->result->timeline, record->shape);
	const struct frame_info *frame = trace_frame(s->result, span->stack);
	const struct place *place = &s->result->places[record->place];
	struct otlp *o = &s->otlp;

	otlp_attribute_text(o, "cuda.operation", work_word(record->work));
	put_device(s, place);
	put_part(s, "cuda.context.id", place->part[PLACE_CONTEXT]);
	put_part(s, "cuda.stream.id", place->part[PLACE_STREAM]);
	if (frame && frame->class == CLASS_GPU_KERNEL)
		otlp_attribute_text(o, "cuda.kernel.name",
				    frame->name + strlen(work_frame(GPU_WORK_KERNEL)));
	if (shape)
		put_shape(s, shape);
	if (record->bytes)
		otlp_attribute_uint(o,
				    record->work == GPU_WORK_UVM_GPU_FAULTS ? "cuda.page_faults"
									    : "cuda.bytes",
				    record->bytes);
	if (record->graph_node) {
		otlp_attribute_uint(o, "cuda.graph.id", record->graph_node >> 32);
		otlp_attribute_uint(o, "cuda.graph.node_id", record->graph_node & UINT32_MAX);
	}
	if (span->parent == RUN)
		otlp_attribute_bool(o, "cuda.launch_unknown", true);
}

/* A line for each frame, the innermost first. */
static void put_stack(struct spans *s, uint32_t stack)
{
	const struct result *r = s->result;
	char text[OTLP_TEXT_BYTES + 1];
	size_t used = 0;

	for (; stack != RESULT_ROOT && used < sizeof(text) - 1; stack = r->stacks[stack].outer) {
		const char *name = r->frames[r->stacks[stack].frame].name;
		int length = snprintf(text + used, sizeof(text) - used, "%s%s", used ? "\n" : "",
				      name ? name : "");

		used += length > 0 ? (size_t)length : 0;
	}
	otlp_attribute_text(&s->otlp, "code.stacktrace", text);
}

static void put_call(struct spans *s, const struct span *span)
{
	static const char *const words[TIMELINE_KINDS] = {
		[TIMELINE_LAUNCH] = "launch", [TIMELINE_WAIT] = "wait", [TIMELINE_CALL] = "call"};
	const struct timeline_record *record = &span->record;
	const struct frame_info *frame = trace_frame(s->result, span->stack);
	const struct trace_track *thread = &s->tracks->list[s->tracks->thread_of[record->place]];
	uint32_t tid = trace_track_tid(thread);
	char name[TRACE_NAME_BYTES];
	struct otlp *o = &s->otlp;

	otlp_attribute_text(o, "cuda.call", words[record->kind]);
	if (frame && frame->class == CLASS_API && frame->name)
		otlp_attribute_text(o, "cuda.api",
				    trace_is_of_driver(frame->name) ? "driver" : "runtime");
	if (tid) {
		otlp_attribute_uint(o, "thread.id", tid);
		trace_track_name(s->result, thread, name);
		otlp_attribute_text(o, "thread.name", name);
	}
	if (record->kind == TIMELINE_LAUNCH && !record->duration_ns)
		otlp_attribute_bool(o, "cuda.end_unknown", true);
	if (s->options->has_stacks && span->stack != RESULT_ROOT)
		put_stack(s, span->stack);
}

static void put_span(struct spans *s, const struct span *span)
{
	const struct timeline_record *record = &span->record;
	const struct frame_info *frame = trace_frame(s->result, span->stack);
	const char *whole =
		frame && frame->short_name ? frame->short_name : trace_kind_word(record->kind);
	char name[NAME_BYTES + 1];

	shorten(whole, name);
	open_span(s, span->number, span->parent, name);
	put_times(s, record->start_ns, end_of(record));
	otlp_open_attributes(&s->otlp, SPAN_ATTRIBUTES);
	if (record->kind == TIMELINE_GPU_OPERATION)
		put_operation(s, span);
	else
		put_call(s, span);
	if (record->correlation)
		otlp_attribute_uint(&s->otlp, "cuda.correlation_id", record->correlation);
	otlp_close_attributes(&s->otlp);
	close_span(s, false);
}

static void put_fact(void *context, const char *name, const char *text, uint64_t number)
{
	struct spans *s = context;
	char key[128];

	if (strcmp(name, "command") == 0)
		return; /* the resource has it */
	snprintf(key, sizeof(key), "profile.%s", name);
	if (text)
		otlp_attribute_text(&s->otlp, key, text);
	else
		otlp_attribute_uint(&s->otlp, key, number);
}

static void put_run(struct spans *s)
{
	const struct totals *t = &s->result->totals;
	bool is_ended = t->command_pid != 0; /* else it is not known */
	char name[NAME_BYTES + 1], message[64];
	struct otlp *o = &s->otlp;

	shorten(command_name(s), name);
	open_span(s, RUN, RUN, name);
	put_times(s, s->first_ns, s->last_ns);
	otlp_open_attributes(o, SPAN_ATTRIBUTES);
	if (is_ended)
		otlp_attribute_uint(o, "process.exit.code", t->exit_status);
	trace_model_facts(s->model, put_fact, s);
	otlp_close_attributes(o);
	if (is_ended && t->exit_status) {
		snprintf(message, sizeof(message), "exit status %u", t->exit_status);
		otlp_open(o, SPAN_STATUS, "status");
		otlp_text(o, STATUS_MESSAGE, "message", message);
		otlp_uint(o, STATUS_CODE, "code", STATUS_ERROR);
		otlp_close(o);
	}
	close_span(s, s->options->context.has_parent);
}

/* ---- requests ---- */

static void open_resource(struct spans *s, uint32_t process)
{
	struct otlp *o = &s->otlp;

	otlp_open(o, REQUEST_RESOURCE_SPANS, NULL);
	put_resource(s, process);
	otlp_open_list(o, "scopeSpans");
	otlp_open(o, RESOURCE_SPANS_SCOPE_SPANS, NULL);
	otlp_open(o, SCOPE_SPANS_SCOPE, "scope");
	otlp_text(o, SCOPE_NAME, "name", "profile");
	otlp_text(o, SCOPE_VERSION, "version", PROFILE_VERSION);
	otlp_close(o);
	otlp_open_list(o, "spans");
}

static void close_resource(struct spans *s)
{
	struct otlp *o = &s->otlp;

	otlp_close_list(o);
	otlp_close(o);
	otlp_close_list(o);
	otlp_text(o, RESOURCE_SPANS_SCHEMA, "schemaUrl", SCHEMA);
	otlp_close(o);
}

static void begin_request(struct spans *s)
{
	s->error = otlp_begin(&s->otlp, s->encoding);
	if (!s->error)
		otlp_open_list(&s->otlp, "resourceSpans");
}

static void end_request(struct spans *s, uint32_t count)
{
	const void *bytes;
	size_t size;

	otlp_close_list(&s->otlp);
	s->error = otlp_end(&s->otlp, &bytes, &size);
	if (!s->error)
		s->error = s->put(s->context, bytes, size, count);
	if (!s->error)
		s->written->items += count;
}

static int compare_spans(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

static void count_time(struct written *written, const struct timeline_record *record)
{
	static const enum row_kind rows[TIMELINE_KINDS] = {[TIMELINE_GPU_OPERATION] = ROW_GPU,
							   [TIMELINE_WAIT] = ROW_WAIT,
							   [TIMELINE_CALL] = ROW_CALL};

	if (record->kind == TIMELINE_LAUNCH)
		return;
	written->total[rows[record->kind]] += record->duration_ns;
	written->exact_ns += (double)record->duration_ns;
}

static void send_batch(struct spans *s)
{
	uint32_t count = s->batch_count, process = NO_NUMBER;

	s->batch_count = 0;
	if (count == 0 || s->error)
		return;
	begin_request(s);
	if (s->error)
		return;
	qsort(s->batch, count, sizeof(*s->batch), compare_spans);
	for (uint32_t i = 0; i < count; i++) {
		const struct span *span = &s->batch[i];

		if (i == 0 || span->process != process) {
			if (i > 0)
				close_resource(s);
			process = span->process;
			open_resource(s, process);
		}
		put_span(s, span);
	}
	close_resource(s);
	end_request(s, count);
	for (uint32_t i = 0; i < count && !s->error; i++)
		count_time(s->written, &s->batch[i].record);
}

/* The command's own process, as far as it has a track. */
static uint32_t find_command(const struct spans *s)
{
	for (uint32_t i = 0; i < s->tracks->first_count; i++) {
		const struct trace_track *track = &s->tracks->list[i];

		if (track->kind == TRACK_PROCESS && s->result->totals.command_pid &&
		    trace_track_pid(s->result, track) == s->result->totals.command_pid)
			return i;
	}
	return NO_NUMBER;
}

static void send_run(struct spans *s)
{
	if (s->error)
		return;
	begin_request(s);
	if (s->error)
		return;
	open_resource(s, find_command(s));
	put_run(s);
	close_resource(s);
	end_request(s, 1);
}

/* ---- from the model ---- */

static uint32_t process_of(const struct spans *s, uint32_t track)
{
	while (s->tracks->list[track].kind != TRACK_PROCESS)
		track = s->tracks->list[track].parent;
	return track;
}

/*
 * The call of its thread that a call is within, or the run. Calls that began within another one may
 * seem to end a little after it, because both ends are taken within CUDA.
 */
static uint32_t parent_of_call(struct spans *s, const struct span *span)
{
	uint32_t thread = s->tracks->thread_of[span->record.place];
	struct outer_call *outer = &s->outers[thread];
	uint64_t end_ns = end_of(&span->record);

	if (outer->number != RUN && span->record.start_ns < outer->end_ns)
		return outer->number;
	*outer = (struct outer_call){end_ns, span->number};
	return RUN;
}

static void add_record(struct spans *s, const struct trace_event *event)
{
	struct span *span = &s->batch[s->batch_count++];

	*span = (struct span){.record = *event->record,
			      .stack = event->stack,
			      .number = ++s->last_number,
			      .parent = RUN,
			      .process = process_of(s, event->track)};
	if (end_of(&span->record) > s->last_ns)
		s->last_ns = end_of(&span->record);
	if (span->record.kind != TIMELINE_GPU_OPERATION)
		span->parent = parent_of_call(s, span);
	else if (event->flow_count)
		span->parent = s->launches[event->first_flow];
	if (span->record.kind == TIMELINE_LAUNCH)
		for (uint32_t i = 0; i < event->flow_count; i++)
			s->launches[event->first_flow + i] = span->number;
	if (s->batch_count == SPANS_IN_REQUEST)
		send_batch(s);
}

static void take_event(void *context, const struct trace_event *event)
{
	struct spans *s = context;

	if (!s->error && (event->kind == TRACE_BEGIN || event->kind == TRACE_INSTANT))
		add_record(s, event);
}

/* 0 or -errno. */
static int write_all(struct spans *s)
{
	const struct totals *t = &s->result->totals;
	struct trace_sums sums = trace_model_sums(s->model);
	int err;

	*s->total = sums.records - sums.count[TIMELINE_CPU_SAMPLE] + 1;
	s->tracks = trace_model_tracks(s->model);
	s->first_ns = sums.first_ns < t->start_ns ? sums.first_ns : t->start_ns;
	s->last_ns = saturated_sum(t->start_ns, t->elapsed_ns);
	s->command = command_words(t->program ? t->program : t->command ? t->command : "");
	s->launches = calloc(sums.flows + 1, sizeof(*s->launches));
	s->outers = calloc(s->tracks->first_count + 1u, sizeof(*s->outers));
	s->batch = calloc(SPANS_IN_REQUEST, sizeof(*s->batch));
	if (!s->command || !s->launches || !s->outers || !s->batch)
		return -ENOMEM;
	err = trace_model_run(s->model, take_event, s);
	if (err)
		return err;
	send_batch(s);
	send_run(s);
	return s->error;
}

int spans_write(const struct result *result, const struct span_options *options,
		enum otlp_encoding encoding,
		int (*put)(void *context, const void *request, size_t size, uint32_t spans),
		void *context, struct written *written, uint64_t *total)
{
	struct spans s = {.result = result,
			  .options = options,
			  .encoding = encoding,
			  .put = put,
			  .context = context,
			  .written = written,
			  .total = total};
	int err;

	*written = (struct written){.items = 0};
	*total = 0;
	if (!(options->context.flags & TRACE_SAMPLED))
		return 0;
	s.model = trace_model_new(result);
	if (!s.model)
		return -errno;
	err = write_all(&s);
	otlp_release(&s.otlp);
	free(s.command);
	free(s.launches);
	free(s.outers);
	free(s.batch);
	trace_model_free(s.model);
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
