// SPDX-License-Identifier: MIT
#include "profiler/formats/span_maker.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/base/command_text.h"
#include "profiler/base/version.h"
#include "profiler/formats/trace_tracks.h"
#include "profiler/model/work_names.h"
#include "symbolize/util/array.h"
#include "symbolize/util/record_set.h"
#include "symbolize/util/saturate.h"
#include "symbolize/util/sorted.h"
#include "symbolize/util/stable_hash.h"
#include "symbolize/util/text.h"

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
	SPAN_LINKS = 13,
	SPAN_DROPPED_LINKS,
	SPAN_STATUS,
	SPAN_FLAGS
};
enum { LINK_ATTRIBUTES = 4, LINK_FLAGS = 6 }; /* 1 to 3 as in a span: SPAN_TRACE_ID to SPAN_STATE */
enum { STATUS_MESSAGE = 2, STATUS_CODE };
enum { STATUS_ERROR = 2 };
enum { KIND_INTERNAL = 1 };

/* Span flags beside the trace flags: FLAG_IS_REMOTE is valid; the parent is in another process. */
#define FLAG_HAS_REMOTE 0x100u
#define FLAG_IS_REMOTE 0x200u

/* Semantic conventions of all attributes that are not our own. */
#define SCHEMA "https://opentelemetry.io/schemas/1.34.0"

#define NAME_BYTES 256 /* longest name of a span */

/* The outermost call of a thread that may still be going on. */
struct outer_call {
	uint32_t process, thread;
	uint64_t start_ns, end_ns;
	uint64_t number;
};

struct span_maker {
	const struct span_options *options;
	enum otlp_encoding encoding;
	int (*put)(void *context, const void *request, size_t size, uint32_t spans);
	void *context;
	struct otlp otlp;
	char **command; /* words; NULL: not known yet */
	struct span *batch;
	uint32_t batch_count;
	uint64_t operation; /* hash of the last operation */
	uint64_t equals;    /* operations just before it with an equal hash */
	uint64_t last_ns;   /* latest end of all spans */
	uint64_t last_number;
	RECORD_SET(struct outer_call) outers; /* by process and thread */
	const struct result *result;          /* passed by the caller */
	struct written written;
	int error;
};

/* ---- resources ---- */

static bool is_given(const struct span_maker *s, const char *key)
{
	for (uint32_t i = 0; i < s->options->resource_count; i++)
		if (strcmp(s->options->resource[i].key, key) == 0)
			return true;
	return false;
}

/* Writes a text of the resource, unless the user gives an attribute with that key. */
static void put_resource_text(struct span_maker *s, const char *key, const char *value)
{
	if (value && *value && !is_given(s, key))
		otlp_attribute_text(&s->otlp, key, value);
}

static const char *command_name(const struct span_maker *s)
{
	return s->command[0] && *base_name(s->command[0]) ? base_name(s->command[0]) : "unknown";
}

static struct trace_track track_of(enum trace_track_kind kind, uint32_t process, uint32_t thread)
{
	struct trace_track track = {.kind = kind, .place = place_unknown()};

	track.place.part[PLACE_PROCESS] = process;
	track.place.part[PLACE_THREAD] = thread;
	return track;
}

/* Writes the resource of a process; NULL: the command's own. */
static void put_resource(struct span_maker *s, const uint32_t *process)
{
	const struct totals *t = &s->result->totals;
	const struct trace_track track =
		track_of(TRACK_PROCESS, process ? *process : PLACE_UNKNOWN, PLACE_UNKNOWN);
	uint32_t pid = process ? trace_track_pid(s->result, &track) : t->command_pid;
	bool is_command = !process || (pid && pid == t->command_pid);
	char name[TRACE_NAME_BYTES];
	struct otlp *o = &s->otlp;

	if (!is_command)
		trace_track_name(s->result, &track, name);
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
	if (is_command && !t->program) /* else the folder is the profiler's */
		put_resource_text(s, "process.working_directory", t->folder);
	put_resource_text(s, "telemetry.sdk.name", "profile");
	put_resource_text(s, "telemetry.sdk.language", "c");
	put_resource_text(s, "telemetry.sdk.version", PROFILE_VERSION);
	otlp_close_list(o);
	otlp_close(o);
}

/* ---- spans ---- */

/* Returns the Unix time, or `ns` itself if the start of the run in Unix time is unknown. */
static uint64_t unix_ns(const struct span_maker *s, uint64_t ns)
{
	const struct totals *t = &s->result->totals;
	uint64_t before = t->start_ns > ns ? t->start_ns - ns : 0;

	if (!t->start_unix_ns)
		return ns;
	if (before)
		return t->start_unix_ns > before ? t->start_unix_ns - before : 0;
	return saturated_sum(t->start_unix_ns, ns - t->start_ns);
}

/* Writes the ids of a span, or of the target of a link: both have equal field numbers. */
static void put_ids(struct span_maker *s, uint64_t number)
{
	const struct trace_context *context = &s->options->context;
	uint8_t id[SPAN_ID_BYTES];

	otlp_id(&s->otlp, SPAN_TRACE_ID, "traceId", context->trace_id, TRACE_ID_BYTES);
	trace_context_span_id(context, number, id);
	otlp_id(&s->otlp, SPAN_ID, "spanId", id, SPAN_ID_BYTES);
	if (context->state[0])
		otlp_text(&s->otlp, SPAN_STATE, "traceState", context->state);
}

static void open_span(struct span_maker *s, uint64_t number, uint64_t parent, const char *name)
{
	const struct trace_context *context = &s->options->context;
	uint8_t id[SPAN_ID_BYTES];
	struct otlp *o = &s->otlp;

	otlp_open(o, SCOPE_SPANS_SPANS, NULL);
	put_ids(s, number);
	if (number != SPAN_OF_RUN) {
		trace_context_span_id(context, parent, id);
		otlp_id(o, SPAN_PARENT, "parentSpanId", id, SPAN_ID_BYTES);
	} else if (context->has_parent) {
		otlp_id(o, SPAN_PARENT, "parentSpanId", context->parent_id, SPAN_ID_BYTES);
	}
	otlp_text(o, SPAN_NAME, "name", name);
	otlp_uint(o, SPAN_KIND, "kind", KIND_INTERNAL);
}

static void close_span(struct span_maker *s, bool is_parent_remote)
{
	otlp_fixed32(&s->otlp, SPAN_FLAGS, "flags",
		     s->options->context.flags | FLAG_HAS_REMOTE |
			     (is_parent_remote ? FLAG_IS_REMOTE : 0));
	otlp_close(&s->otlp);
}

static void put_times(struct span_maker *s, uint64_t start_ns, uint64_t end_ns)
{
	otlp_fixed64(&s->otlp, SPAN_START, "startTimeUnixNano", unix_ns(s, start_ns));
	otlp_fixed64(&s->otlp, SPAN_END, "endTimeUnixNano", unix_ns(s, end_ns));
}

/* Cuts a name to NAME_BYTES, between characters. */
static void shorten(const char *text, char name[NAME_BYTES + 1])
{
	snprintf(name, NAME_BYTES + 1, "%.*s", (int)fit_utf8(text, NAME_BYTES), text);
}

static void put_part(struct span_maker *s, const char *key, uint32_t part)
{
	if (part != PLACE_UNKNOWN)
		otlp_attribute_uint(&s->otlp, key, part);
}

static void put_device(struct span_maker *s, const struct place *place)
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

static void put_shape(struct span_maker *s, const struct timeline_shape *shape)
{
	struct otlp *o = &s->otlp;

	otlp_attribute_uints(o, "cuda.kernel.grid", shape->grid, 3);
	otlp_attribute_uints(o, "cuda.kernel.block", shape->block, 3);
	otlp_attribute_uint(o, "cuda.kernel.registers", shape->registers);
	otlp_attribute_uint(o, "cuda.kernel.shared_memory",
			    (uint64_t)shape->static_shared + shape->dynamic_shared);
}

static void put_operation(struct span_maker *s, const struct span *span)
{
	const struct timeline_record *record = &span->record;
	const struct timeline_shape *shape = timeline_shape(s->result->timeline, record->shape);
	const struct frame_info *frame = trace_frame(s->result, span->stack);
	const struct place *place = &s->result->places[record->place.number];
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
	if (span->parent == SPAN_OF_RUN)
		otlp_attribute_bool(o, "cuda.launch_unknown", true);
}

/* Writes a stack, with a line for each frame, the innermost first. */
static void put_stack(struct span_maker *s, uint32_t stack)
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

static void put_status(struct span_maker *s, const char *message)
{
	struct otlp *o = &s->otlp;

	otlp_open(o, SPAN_STATUS, "status");
	otlp_text(o, STATUS_MESSAGE, "message", message);
	otlp_uint(o, STATUS_CODE, "code", STATUS_ERROR);
	otlp_close(o);
}

static void put_call(struct span_maker *s, const struct span *span)
{
	static const char *const words[TIMELINE_KINDS] = {
		[TIMELINE_LAUNCH] = "launch", [TIMELINE_WAIT] = "wait", [TIMELINE_CALL] = "call"};
	const struct timeline_record *record = &span->record;
	const struct place *place = &s->result->places[record->place.number];
	const struct trace_track thread =
		track_of(TRACK_THREAD, place->part[PLACE_PROCESS], place->part[PLACE_THREAD]);
	uint32_t tid = trace_track_tid(&thread);
	char name[TRACE_NAME_BYTES];
	enum trace_interface interface = trace_interface(trace_frame(s->result, span->stack));
	char error[TRACE_ERROR_BYTES];
	struct otlp *o = &s->otlp;

	otlp_attribute_text(o, "cuda.call", words[record->kind]);
	if (interface != TRACE_UNKNOWN_API)
		otlp_attribute_text(o, "cuda.api",
				    interface == TRACE_DRIVER_API ? "driver" : "runtime");
	if (record->error)
		otlp_attribute_text(o, "error.type",
				    trace_error(s->result, &span->record, span->stack, error));
	if (tid) {
		otlp_attribute_uint(o, "thread.id", tid);
		trace_track_name(s->result, &thread, name);
		otlp_attribute_text(o, "thread.name", name);
	}
	put_part(s, "cuda.context.id", place->part[PLACE_CONTEXT]);
	put_part(s, "cuda.stream.id", place->part[PLACE_STREAM]);
	if (record->kind == TIMELINE_LAUNCH && !record->duration_ns)
		otlp_attribute_bool(o, "cuda.end_unknown", true);
	if (s->options->has_stacks && span->stack != RESULT_ROOT)
		put_stack(s, span->stack);
}

/* Writes the link to an operation, which is in this trace and not remote. */
static void put_link(struct span_maker *s, const struct span *span)
{
	struct otlp *o = &s->otlp;

	if (span->link) {
		otlp_open_list(o, "links");
		otlp_open(o, SPAN_LINKS, NULL);
		put_ids(s, span->link);
		otlp_open_attributes(o, LINK_ATTRIBUTES);
		otlp_attribute_text(o, "cuda.link", "waited_for");
		otlp_close_list(o);
		otlp_fixed32(o, LINK_FLAGS, "flags", s->options->context.flags | FLAG_HAS_REMOTE);
		otlp_close(o);
		otlp_close_list(o);
	}
	if (span->is_link_dropped)
		otlp_uint(o, SPAN_DROPPED_LINKS, "droppedLinksCount", 1);
}

static void put_span(struct span_maker *s, const struct span *span)
{
	const struct timeline_record *record = &span->record;
	const struct frame_info *frame = trace_frame(s->result, span->stack);
	const char *whole =
		frame && frame->short_name ? frame->short_name : trace_kind_word(record->kind);
	char name[NAME_BYTES + 1], error[TRACE_ERROR_BYTES];

	shorten(whole, name);
	open_span(s, span->number, span->parent, name);
	put_times(s, record->start_ns, timeline_end_ns(record));
	otlp_open_attributes(&s->otlp, SPAN_ATTRIBUTES);
	if (record->kind == TIMELINE_GPU_OPERATION)
		put_operation(s, span);
	else
		put_call(s, span);
	if (record->correlation)
		otlp_attribute_uint(&s->otlp, "cuda.correlation_id", record->correlation);
	otlp_close_list(&s->otlp);
	put_link(s, span);
	if (record->kind != TIMELINE_GPU_OPERATION && record->error)
		put_status(s, trace_error(s->result, &span->record, span->stack, error));
	close_span(s, false);
}

static void put_fact(void *context, const char *name, const char *text, uint64_t number)
{
	struct span_maker *s = context;
	char key[128];

	if (strcmp(name, "command") == 0)
		return; /* the resource has the command */
	snprintf(key, sizeof(key), "profile.%s", name);
	if (text)
		otlp_attribute_text(&s->otlp, key, text);
	else
		otlp_attribute_uint(&s->otlp, key, number);
}

static void put_run(struct span_maker *s, const struct trace_sums *sums)
{
	const struct totals *t = &s->result->totals;
	uint64_t last_ns = saturated_sum(t->start_ns, t->elapsed_ns);
	bool is_ended = t->command_pid != 0; /* the exit status is known */
	char name[NAME_BYTES + 1], message[64];
	struct otlp *o = &s->otlp;

	shorten(command_name(s), name);
	open_span(s, SPAN_OF_RUN, SPAN_OF_RUN, name);
	put_times(s, sums->first_ns < t->start_ns ? sums->first_ns : t->start_ns,
		  s->last_ns > last_ns ? s->last_ns : last_ns);
	otlp_open_attributes(o, SPAN_ATTRIBUTES);
	if (is_ended)
		otlp_attribute_uint(o, "process.exit.code", t->exit_status);
	trace_facts(s->result, sums, put_fact, s);
	otlp_close_list(o);
	if (is_ended && t->exit_status) {
		snprintf(message, sizeof(message), "exit status %u", t->exit_status);
		put_status(s, message);
	}
	close_span(s, s->options->context.has_parent);
}

/* ---- requests ---- */

static void open_resource(struct span_maker *s, const uint32_t *process)
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

static void close_resource(struct span_maker *s)
{
	struct otlp *o = &s->otlp;

	otlp_close_list(o);
	otlp_close(o);
	otlp_close_list(o);
	otlp_text(o, RESOURCE_SPANS_SCHEMA, "schemaUrl", SCHEMA);
	otlp_close(o);
}

static void begin_request(struct span_maker *s)
{
	s->error = otlp_begin(&s->otlp, s->encoding);
	if (!s->error)
		otlp_open_list(&s->otlp, "resourceSpans");
}

static int compare_spans(const void *a, const void *b)
{
	const struct span *x = a, *y = b;
	int order = compare_numbers(x->process, y->process);

	return order ? order : compare_numbers(x->position, y->position);
}

static void end_request(struct span_maker *s, uint32_t count)
{
	const void *bytes;
	size_t size;

	otlp_close_list(&s->otlp);
	s->error = otlp_end(&s->otlp, &bytes, &size);
	if (!s->error)
		s->error = s->put(s->context, bytes, size, count);
	if (!s->error)
		s->written.items += count;
}

static uint32_t process_of(const struct span_maker *s, const struct span *span)
{
	return s->result->places[span->record.place.number].part[PLACE_PROCESS];
}

/* Sorts the batch by process. Spans of a process stay in the order in which they were added. */
static void sort_batch(struct span_maker *s)
{
	for (uint32_t i = 0; i < s->batch_count; i++) {
		s->batch[i].process = process_of(s, &s->batch[i]);
		s->batch[i].position = i;
	}
	qsort(s->batch, s->batch_count, sizeof(*s->batch), compare_spans);
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

/* Splits the command into words, for the resource. Returns false if out of memory. */
static bool parse_command(struct span_maker *s, const struct result *result)
{
	const struct totals *t = &result->totals;
	const char *command = t->program ? t->program : t->command;

	s->result = result;
	if (!s->command)
		s->command = command_words(command ? command : "");
	if (!s->command)
		s->error = -ENOMEM;
	return s->command != NULL;
}

static void put_batch(struct span_maker *s)
{
	uint32_t count = s->batch_count;

	begin_request(s);
	if (s->error)
		return;
	sort_batch(s);
	for (uint32_t i = 0; i < count; i++) {
		const struct span *span = &s->batch[i];

		if (i == 0 || span->process != span[-1].process) {
			if (i > 0)
				close_resource(s);
			open_resource(s, &span->process);
		}
		put_span(s, span);
	}
	close_resource(s);
	end_request(s, count);
	for (uint32_t i = 0; i < count && !s->error; i++)
		count_time(&s->written, &s->batch[i].record);
}

/* ---- numbers and parents ---- */

/* Set in the numbers of all records, so none is SPAN_OF_RUN. */
#define IS_OF_RECORD (UINT64_C(1) << 63)

static uint64_t number_of_call(uint32_t kind, uint32_t process, uint32_t which, uint64_t start_ns)
{
	const uint64_t key[] = {(uint64_t)process << 32 | which, start_ns, kind};

	return stable_hash(key, sizeof(key)) | IS_OF_RECORD;
}

/* Returns the number of an operation. Operations that are equal in all get different numbers. */
static uint64_t number_of_operation(struct span_maker *s, const struct result *result,
				    const struct timeline_record *record)
{
	const uint32_t *part = result->places[record->place.number].part;
	uint64_t key[] = {
		(uint64_t)part[PLACE_PROCESS] << 32 | record->correlation,
		(uint64_t)part[PLACE_DEVICE] << 32 | part[PLACE_CONTEXT],
		(uint64_t)part[PLACE_STREAM] << 32 | record->work,
		record->start_ns,
		record->duration_ns,
		record->bytes,
		record->graph_node,
		0,
	};
	uint64_t number = stable_hash(key, sizeof(key));

	s->equals = number == s->operation ? s->equals + 1 : 0;
	s->operation = number;
	key[sizeof(key) / sizeof(*key) - 1] = s->equals;
	return (s->equals ? stable_hash(key, sizeof(key)) : number) | IS_OF_RECORD;
}

uint64_t span_of_launch(uint32_t process, uint32_t correlation, uint64_t start_ns)
{
	return number_of_call(TIMELINE_LAUNCH, process, correlation, start_ns);
}

uint64_t span_of_call(const struct result *result, const struct timeline_record *record)
{
	const uint32_t *part = result->places[record->place.number].part;

	if (record->kind == TIMELINE_LAUNCH && record->correlation)
		return span_of_launch(part[PLACE_PROCESS], record->correlation, record->start_ns);
	return number_of_call(record->kind, part[PLACE_PROCESS], part[PLACE_THREAD],
			      record->start_ns);
}

/* Returns the outer call of a call's thread, or NULL if out of memory. */
static struct outer_call *outer_of(struct span_maker *s, const struct outer_call *call)
{
	const struct outer_call outer = {.process = call->process, .thread = call->thread};
	const uint32_t key[] = {call->process, call->thread};
	uint32_t at = record_get(&s->outers, &key, &outer);

	return at != RECORD_NONE ? &s->outers.list[at] : NULL;
}

/*
 * Decides nesting by the start of a call alone. A nested call may seem to end a little after its
 * outer call, because both ends are taken within CUDA.
 */
uint64_t span_maker_around(struct span_maker *s, const struct result *result,
			   const struct timeline_record *record)
{
	const uint32_t *part = result->places[record->place.number].part;
	const struct outer_call call = {.process = part[PLACE_PROCESS],
					.thread = part[PLACE_THREAD],
					.start_ns = record->start_ns,
					.end_ns = timeline_end_ns(record),
					.number = span_of_call(result, record)};
	struct outer_call *outer = outer_of(s, &call);

	if (!outer || outer->number == call.number)
		return SPAN_OF_RUN;
	if (outer->start_ns <= call.start_ns && call.start_ns < outer->end_ns)
		return outer->number;
	*outer = call;
	return SPAN_OF_RUN;
}

bool span_waits_for_stream(const struct result *result, const struct timeline_record *record)
{
	const uint32_t *part = result->places[record->place.number].part;

	return record->kind == TIMELINE_WAIT && record->duration_ns && !record->error &&
	       part[PLACE_CONTEXT] != PLACE_UNKNOWN && part[PLACE_STREAM] != PLACE_UNKNOWN;
}

/* ---- for callers ---- */

struct span_maker *span_maker_new(const struct span_options *options, enum otlp_encoding encoding,
				  int (*put)(void *context, const void *request, size_t size,
					     uint32_t spans),
				  void *context)
{
	struct span_maker *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	*s = (struct span_maker){
		.options = options, .encoding = encoding, .put = put, .context = context};
	s->batch = calloc(SPANS_IN_REQUEST, sizeof(*s->batch));
	if (s->batch)
		return s;
	free(s);
	return NULL;
}

void span_maker_free(struct span_maker *s)
{
	if (!s)
		return;
	otlp_release(&s->otlp);
	record_set_release(&s->outers.set);
	free(s->command);
	free(s->batch);
	free(s);
}

int span_maker_add(struct span_maker *s, const struct result *result, const struct span *span)
{
	struct span *added = &s->batch[s->batch_count++];
	uint64_t end_ns = timeline_end_ns(&span->record);

	*added = *span;
	added->number = span->record.kind == TIMELINE_GPU_OPERATION
				? number_of_operation(s, result, &span->record)
				: span_of_call(result, &span->record);
	s->last_number = added->number;
	if (end_ns > s->last_ns)
		s->last_ns = end_ns;
	return s->batch_count == SPANS_IN_REQUEST ? span_maker_flush(s, result) : 0;
}

uint64_t span_maker_number(const struct span_maker *s)
{
	return s->last_number;
}

int span_maker_flush(struct span_maker *s, const struct result *result)
{
	s->error = 0;
	if (s->batch_count && parse_command(s, result))
		put_batch(s);
	s->batch_count = 0;
	return s->error;
}

int span_maker_end(struct span_maker *s, const struct result *result, const struct trace_sums *sums)
{
	int err = span_maker_flush(s, result);

	if (err || !parse_command(s, result))
		return s->error;
	begin_request(s);
	if (s->error)
		return s->error;
	open_resource(s, NULL);
	put_run(s, sums);
	close_resource(s);
	end_request(s, 1);
	return s->error;
}

struct written span_maker_written(const struct span_maker *s)
{
	return s->written;
}
