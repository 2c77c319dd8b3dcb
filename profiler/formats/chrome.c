// SPDX-License-Identifier: MIT
/*
 * Writes the Trace Event Format of Chromium (the document "Trace Event Format" of its tracing
 * project), as a JSON object: chrome://tracing, Perfetto and many scripts read it.
 *
 * The format knows only processes and their threads. A device of a process is a process here;
 * streams, waits and ranges are threads. Their numbers are beyond those that Linux uses. Times
 * are in microseconds since the beginning, with three decimals: exact to the nanosecond.
 * Categories and arguments of GPU work have the names of PyTorch's traces (Kineto).
 *
 * Flows are those of version 2 of the format: members of the slices that they connect.
 *
 * Stacks are shared: an event refers to its innermost frame in `stackFrames`, by `sf`. CPU
 * samples are events of phase P.
 */
#include "profiler/formats/writer.h"

#include <errno.h>
#include <stdlib.h>
#include "profiler/formats/json.h"
#include "profiler/formats/trace_arguments.h"
#include "profiler/formats/trace_model.h"
#include "profiler/formats/trace_state.h"
#include "profiler/model/work_names.h"
#include "profiler/tables/occupancy.h"
#include "symbolize/util/array.h"

/*
 * Readers in browsers parse the document as one string. Strings of V8 have at most 2^29 - 24
 * characters (v8::String::kMaxLength).
 */
#define READABLE_BYTES UINT64_C(500000000)

/* First number that is no pid or tid of Linux: PID_MAX_LIMIT. */
#define OWN_NUMBERS (UINT32_C(1) << 22)
#define STATE_NUMBERS (UINT32_C(1) << 30) /* numbers of GPUs' states, beyond those of tracks */

/* Process and thread of events on a track, as JSON. */
struct members {
	char text[47];
	uint8_t length;
};

struct chrome {
	const struct result *result;
	const struct trace_tracks *tracks;
	struct trace_arguments *arguments;
	struct trace_state state;
	struct json json;
	uint64_t first_ns;
	uint32_t *pids;          /* by number of a first lane */
	uint8_t *stacks;         /* by stack: 1 if an event refers to it */
	struct members *members; /* by track */
	uint32_t member_count, member_capacity;
	uint32_t *launches; /* by flow: the first flow of its launch, which identifies the launch */
	bool failed;        /* out of memory */
};

/* ---- numbers ---- */

/*
 * Numbers the processes. Processes that had one pid, in turn or by exec, become one process here,
 * with the name of the last.
 */
static void number_processes(struct chrome *c)
{
	for (uint32_t i = 0; i < c->tracks->first_count; i++) {
		const struct trace_track *track = &c->tracks->list[i];
		uint32_t pid = trace_track_pid(c->result, track);

		if (track->kind == TRACK_PROCESS)
			c->pids[i] = pid && pid < OWN_NUMBERS ? pid : OWN_NUMBERS + i;
		else if (track->kind == TRACK_DEVICE)
			c->pids[i] = OWN_NUMBERS + i;
		else
			c->pids[i] = c->pids[track->parent];
	}
}

static uint32_t pid_of(const struct chrome *c, uint32_t track)
{
	return c->pids[c->tracks->list[track].base];
}

static uint32_t tid_of(const struct chrome *c, uint32_t track)
{
	const struct trace_track *t = &c->tracks->list[track];
	uint32_t tid = t->kind == TRACK_THREAD && !t->lane ? trace_track_tid(t) : 0;

	return tid ? tid : OWN_NUMBERS + track;
}

/* ---- events ---- */

/* Adds the members of a track. Tracks come in the order of their numbers. */
static void add_members(struct chrome *c, uint32_t track)
{
	struct members *members;

	if (!array_make_room(&c->members, c->member_count, &c->member_capacity,
			     sizeof(*c->members))) {
		c->failed = true;
		return;
	}
	members = &c->members[c->member_count++];
	members->length =
		(uint8_t)snprintf(members->text, sizeof(members->text), "\"pid\":%u,\"tid\":%u",
				  pid_of(c, track), tid_of(c, track));
}

static void begin_event(struct chrome *c, char phase, const char *name, uint32_t track)
{
	const struct members *members = &c->members[track];
	struct json *j = &c->json;
	const char ph[] = {phase, '\0'};

	json_open_line(j, NULL);
	json_text(j, "ph", ph);
	json_text(j, "name", name);
	json_raw(j, members->text, members->length);
}

static void put_time(struct chrome *c, uint64_t time_ns)
{
	json_thousandths(&c->json, "ts", time_ns - c->first_ns);
}

/* Writes the name and the sort index of a process or a thread. */
static void put_metadata(struct chrome *c, const char *what, uint32_t track, const char *name)
{
	struct json *j = &c->json;
	char event[32];

	snprintf(event, sizeof(event), "%s_name", what);
	begin_event(c, 'M', event, track);
	json_open_object(j, "args");
	json_text(j, "name", name);
	json_close_object(j);
	json_close_object(j);
	snprintf(event, sizeof(event), "%s_sort_index", what);
	begin_event(c, 'M', event, track);
	json_open_object(j, "args");
	json_uint(j, "sort_index", c->tracks->list[track].base);
	json_close_object(j);
	json_close_object(j);
}

static void put_track(struct chrome *c, uint32_t number)
{
	const struct trace_track *track = &c->tracks->list[number];
	char name[TRACE_NAME_BYTES], parent[TRACE_NAME_BYTES], whole[2 * TRACE_NAME_BYTES + 4];
	bool is_process = track->kind == TRACK_PROCESS || track->kind == TRACK_DEVICE;

	add_members(c, number);
	if (c->failed)
		return;
	trace_track_name(c->result, track, name);
	if (track->kind == TRACK_RUNNING || track->kind == TRACK_QUEUED)
		return; /* viewers identify counters by name */
	if (track->kind != TRACK_PROCESS)
		trace_track_whole_name(c->result, &c->tracks->list[track->parent], parent);
	switch (track->kind) {
	case TRACK_THREAD: /* chrome://tracing does not show the number */
		trace_track_whole_name(c->result, track, whole);
		break;
	case TRACK_DEVICE:
		snprintf(whole, sizeof(whole), "%s of %s", name, parent);
		break;
	case TRACK_WAITS:
	case TRACK_OFF_CPU:
	case TRACK_RANGES:
		snprintf(whole, sizeof(whole), "%s: %s", parent, name);
		break;
	default:
		snprintf(whole, sizeof(whole), "%s", name);
	}
	put_metadata(c, is_process ? "process" : "thread", number, whole);
}

static const char *category_of(const struct timeline_record *record, const char *name)
{
	switch (record->kind) {
	case TIMELINE_CPU_SAMPLE:
		return "cpu_sample";
	case TIMELINE_LAUNCH:
		return trace_is_of_driver(name) ? "cuda_driver" : "cuda_runtime";
	case TIMELINE_WAIT:
		return "cuda_wait";
	case TIMELINE_CALL:
		return "cuda_call";
	case TIMELINE_OFF_CPU:
		return "off_cpu";
	default:
		break;
	}
	if (record->work == GPU_WORK_KERNEL)
		return "kernel";
	if (record->work == GPU_WORK_MEMSET)
		return "gpu_memset";
	return gpu_work_is_copy(record->work) ? "gpu_memcpy" : "gpu_other";
}

static void put_dimensions(struct json *j, const char *key, const uint32_t size[3])
{
	json_open_array(j, key);
	for (int i = 0; i < 3; i++)
		json_uint(j, NULL, size[i]);
	json_close_array(j);
}

static void put_shape(struct json *j, const struct timeline_shape *shape)
{
	put_dimensions(j, "grid", shape->grid);
	put_dimensions(j, "block", shape->block);
	json_uint(j, "registers per thread", shape->registers);
	json_uint(j, "shared memory", (uint64_t)shape->static_shared + shape->dynamic_shared);
	if (shape->static_shared)
		json_uint(j, "static shared memory", shape->static_shared);
	if (shape->dynamic_shared)
		json_uint(j, "dynamic shared memory", shape->dynamic_shared);
}

static void put_occupancy(struct json *j, const struct trace_operation *operation)
{
	char text[OCCUPANCY_LIMITS_BYTES];

	json_real(j, "theoretical occupancy %", operation->occupancy_percent);
	json_text(j, "occupancy limited by", occupancy_limits_text(operation->limits, text));
	json_real(j, "waves per SM", operation->waves);
}

static void put_values(struct chrome *c, const struct trace_operation *operation)
{
	const struct counter_table *counters = c->result->counters;
	char name[TRACE_METRIC_BYTES];

	for (uint32_t i = 0; i < operation->value_count; i++) {
		const struct counter_value *value = &counters->values[operation->values[i]];

		json_real(&c->json, trace_metric_name(&counters->metrics[value->metric], name),
			  value->value);
	}
}

static void put_part(struct json *j, const char *key, uint32_t part)
{
	if (part != PLACE_UNKNOWN)
		json_uint(j, key, part);
}

static void put_arguments(struct chrome *c, const struct trace_event *event)
{
	const struct timeline_record *record = event->record;
	struct trace_operation operation = trace_arguments_of(c->arguments, record);
	const struct place *place = &c->result->places[record->place.number];
	char text[TRACE_ERROR_BYTES];
	const char *error = trace_error(c->result, record, event->stack, text);
	struct json *j = &c->json;

	json_open_object(j, "args");
	json_text(j, "error", error);
	if (record->kind == TIMELINE_GPU_OPERATION) {
		put_part(j, "device", place->part[PLACE_DEVICE]);
		put_part(j, "context", place->part[PLACE_CONTEXT]);
		put_part(j, "stream", place->part[PLACE_STREAM]);
	}
	if (record->correlation)
		json_uint(j, "correlation", record->correlation);
	if (operation.shape)
		put_shape(j, operation.shape);
	if (operation.limits)
		put_occupancy(j, &operation);
	if (record->bytes && record->kind != TIMELINE_WAIT)
		json_uint(j, "bytes", record->bytes);
	if (operation.bytes_per_ns)
		json_real(j, "memory bandwidth (GB/s)", operation.bytes_per_ns);
	if (record->graph_node) {
		json_uint(j, "graph", record->graph_node >> 32);
		json_uint(j, "graph node", record->graph_node & UINT32_MAX);
	}
	put_values(c, &operation);
	json_close_object(j);
}

/* Writes a flow: viewers draw arrows from flow_out to all later flow_in with an equal bind_id. */
static void put_flow(struct chrome *c, const struct trace_event *event)
{
	bool is_launch = event->record->kind == TIMELINE_LAUNCH;

	for (uint32_t i = 0; is_launch && i < event->flow_count; i++)
		c->launches[event->first_flow + i] = event->first_flow;
	if (!event->flow_count)
		return;
	json_uint(&c->json, "bind_id", c->launches[event->first_flow]);
	json_bool(&c->json, is_launch ? "flow_out" : "flow_in", true);
}

static void put_record(struct chrome *c, const struct trace_event *event)
{
	const struct timeline_record *record = event->record;
	const struct frame_info *frame = trace_frame(c->result, event->stack);
	const char *name = frame ? frame->short_name : trace_kind_word(record->kind);
	struct json *j = &c->json;

	begin_event(c, event->kind == TRACE_SAMPLE ? 'P' : 'X', name ? name : "", event->track);
	json_text(&c->json, "cat", category_of(record, name));
	put_time(c, event->time_ns);
	if (event->kind != TRACE_SAMPLE)
		json_thousandths(j, "dur", record->duration_ns);
	if (frame) {
		json_uint(j, "sf", event->stack);
		c->stacks[event->stack] = 1;
	}
	if (event->kind != TRACE_SAMPLE) {
		put_flow(c, event);
		put_arguments(c, event);
	}
	json_close_object(&c->json);
}

static void put_range(struct chrome *c, const struct trace_event *event)
{
	const struct frame_info *frame = &c->result->frames[event->frame];

	begin_event(c, event->kind == TRACE_RANGE_BEGIN ? 'B' : 'E', frame->name ? frame->name : "",
		    event->track);
	json_text(&c->json, "cat", "nvtx");
	put_time(c, event->time_ns);
	json_close_object(&c->json);
}

/* Writes both counters as one event: viewers stack them. */
static void put_counters(struct chrome *c, const struct trace_event *event)
{
	struct json *j = &c->json;

	json_open_line(j, NULL);
	json_text(j, "ph", "C");
	json_text(j, "name", "operations");
	json_uint(j, "pid", pid_of(c, event->track));
	put_time(c, event->time_ns);
	json_open_object(j, "args");
	json_uint(j, "running", event->running);
	json_uint(j, "queued", event->queued);
	json_close_object(j);
	json_close_object(&c->json);
}

/* Returns the pid of a GPU's state, which is shown as a process. */
static uint32_t pid_of_state(uint32_t gpu)
{
	return STATE_NUMBERS + gpu;
}

static void put_state_names(struct chrome *c)
{
	struct json *j = &c->json;
	char name[TRACE_STATE_NAME_BYTES];

	for (uint32_t i = 0; i < c->state.courses.count; i++) {
		json_open_line(j, NULL);
		json_text(j, "ph", "M");
		json_text(j, "name", "process_name");
		json_uint(j, "pid", pid_of_state(i));
		json_open_object(j, "args");
		json_text(j, "name", trace_state_name(&c->state, i, name));
		json_close_object(j);
		json_close_object(j);
	}
}

static void put_state(void *context, uint32_t counter, uint64_t time_ns, uint64_t value)
{
	struct chrome *c = context;
	struct json *j = &c->json;

	json_open_line(j, NULL);
	json_text(j, "ph", "C");
	json_text(j, "name", trace_counter_name(&c->state.counters[counter]));
	json_uint(j, "pid", pid_of_state(c->state.counters[counter].gpu));
	put_time(c, time_ns > c->first_ns ? time_ns : c->first_ns);
	json_open_object(j, "args");
	json_uint(j, "value", value);
	json_close_object(j);
	json_close_object(j);
}

static void put_event(void *context, const struct trace_event *event)
{
	struct chrome *c = context;

	if (c->failed)
		return;
	if (event->kind != TRACE_TRACK)
		trace_state_until(&c->state, event->time_ns, put_state, c);
	switch (event->kind) {
	case TRACE_TRACK:
		put_track(c, event->track);
		break;
	case TRACE_BEGIN:
	case TRACE_INSTANT:
	case TRACE_SAMPLE:
		put_record(c, event);
		break;
	case TRACE_END:
		break; /* the begin has the duration */
	case TRACE_RANGE_BEGIN:
	case TRACE_RANGE_END:
		put_range(c, event);
		break;
	case TRACE_COUNTERS:
		put_counters(c, event);
		break;
	}
}

/* ---- stacks ---- */

/* Writes the stacks of events, and their outer stacks, which have smaller numbers. */
static void put_stacks(struct chrome *c)
{
	const struct result *r = c->result;
	struct json *j = &c->json;

	for (uint32_t i = r->stack_count; i-- > RESULT_ROOT + 1;)
		if (c->stacks[i])
			c->stacks[r->stacks[i].outer] = 1;
	json_open_line(j, "stackFrames");
	for (uint32_t i = RESULT_ROOT + 1; i < r->stack_count; i++) {
		const struct frame_info *frame = &r->frames[r->stacks[i].frame];
		const char *file = frame->file ? frame->file : frame->module;
		char number[16];

		if (!c->stacks[i])
			continue;
		json_break_line(j);
		snprintf(number, sizeof(number), "%u", i);
		json_open_object(j, number);
		json_text(j, "name", frame->name ? frame->name : "");
		json_text(j, "category", file ? file : "");
		if (r->stacks[i].outer != RESULT_ROOT)
			json_uint(j, "parent", r->stacks[i].outer);
		json_close_object(j);
	}
	json_close_object(j);
}

/* ---- all of it ---- */

static void put_fact(void *context, const char *name, const char *text, uint64_t number)
{
	if (text)
		json_text(context, name, text);
	else
		json_uint(context, name, number);
}

static int put_document(struct chrome *c, struct trace_model *model)
{
	const struct totals *t = &c->result->totals;
	struct json *j = &c->json;
	const struct trace_sums sums = trace_model_sums(model);
	int err;

	json_open_object(j, NULL);
	json_text(j, "displayTimeUnit", "ns");
	/* Unix time of ts 0; the first record may precede the run */
	if (t->start_unix_ns)
		json_uint(j, "baseTimeNanoseconds", t->start_unix_ns - (t->start_ns - c->first_ns));
	json_open_object(j, "otherData");
	trace_facts(c->result, &sums, put_fact, j);
	json_close_object(j);
	json_break_line(j);
	json_open_array(j, "traceEvents");
	for (uint32_t i = 0; i < c->tracks->first_count; i++)
		put_track(c, i);
	put_state_names(c);
	err = trace_model_run(model, put_event, c);
	trace_state_until(&c->state, UINT64_MAX, put_state, c);
	json_close_array(j);
	put_stacks(c);
	json_close_object(j);
	json_end(j);
	return err;
}

static int write_chrome(const struct result *result, const struct writer_options *options,
			FILE *out, struct written *written)
{
	struct trace_model *model = trace_model_new(result);
	struct chrome c = {.result = result, .json = json_begin(out)};
	int err = -ENOMEM;

	(void)options;
	if (!model)
		return -errno;
	*written = trace_model_written(model);
	c.tracks = trace_model_tracks(model);
	c.first_ns = trace_model_sums(model).first_ns;
	c.pids = calloc(c.tracks->first_count + 1u, sizeof(*c.pids));
	c.stacks = calloc(result->stack_count + 1u, 1);
	c.launches = calloc(trace_model_sums(model).flows + 1, sizeof(*c.launches));
	c.arguments = trace_arguments_new(result);
	if (c.pids && c.stacks && c.launches && c.arguments &&
	    trace_state_init(&c.state, result) == 0) {
		number_processes(&c);
		err = put_document(&c, model);
	}
	if (c.failed)
		err = -ENOMEM;
	written->bytes = json_bytes(&c.json);
	free(c.pids);
	free(c.stacks);
	free(c.launches);
	free(c.members);
	trace_arguments_free(c.arguments);
	trace_state_release(&c.state);
	trace_model_free(model);
	if (err)
		return err;
	return ferror(out) ? -EIO : 0;
}

const struct writer chrome_writer = {.name = "chrome",
				     .suffix = ".trace.json",
				     .item = "event",
				     .needs = NEEDS_TIMELINE,
				     .is_timeline = true,
				     .smaller = &perfetto_writer,
				     .readable_bytes = READABLE_BYTES,
				     .write = write_chrome};
