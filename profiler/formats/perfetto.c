// SPDX-License-Identifier: MIT
/*
 * Writes the trace format of Perfetto: the message Trace of protos/perfetto/trace in
 * github.com/google/perfetto, uncompressed. The numbers below are those of its fields, from:
 *
 *	trace_packet.proto, clock_snapshot.proto, trace_packet_defaults.proto
 *	interned_data/interned_data.proto
 *	profiling/profile_common.proto (frames, callstacks, mappings)
 *	profiling/profile_packet.proto (samples), common/perf_events.proto
 *	track_event/: track_descriptor.proto, process_descriptor.proto, thread_descriptor.proto,
 *	  counter_descriptor.proto, track_event.proto, debug_annotation.proto
 *
 * All packets are of one sequence and in order of time. Texts, frames and stacks are interned:
 * the first packet that refers to one brings it along. Each kind of interned data has its own
 * numbers. What has a number in the result uses that, plus 1.
 *
 * Readers ignore unknown fields: the stacks of launches and operations (TrackEvent.callstack_iid)
 * show only in readers of 2026 and later.
 */
#include "profiler/formats/writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/shape/frame_kind.h"
#include "profiler/formats/protobuf.h"
#include "profiler/formats/trace_arguments.h"
#include "profiler/formats/trace_model.h"
#include "profiler/formats/trace_state.h"
#include "profiler/model/work_names.h"
#include "profiler/tables/occupancy.h"
#include "symbolize/util/array.h"
#include "symbolize/util/record_set.h"

enum { TRACE_PACKET = 1 };
enum {
	PACKET_CLOCK_SNAPSHOT = 6,
	PACKET_TIMESTAMP = 8,
	PACKET_SEQUENCE_ID = 10,
	PACKET_TRACK_EVENT = 11,
	PACKET_INTERNED_DATA = 12,
	PACKET_SEQUENCE_FLAGS = 13,
	PACKET_DEFAULTS = 59,
	PACKET_TRACK_DESCRIPTOR = 60,
	PACKET_PERF_SAMPLE = 66,
};
enum { SEQUENCE_CLEARED = 1, SEQUENCE_NEEDS_STATE = 2 };
enum { SNAPSHOT_CLOCKS = 1, SNAPSHOT_PRIMARY_CLOCK = 2 };
enum { CLOCK_ID = 1, CLOCK_TIMESTAMP = 2 };
enum { BUILTIN_CLOCK_REALTIME = 1, BUILTIN_CLOCK_MONOTONIC = 3 };
enum { DEFAULTS_PERF_SAMPLE = 12, DEFAULTS_CLOCK_ID = 58 };
enum { PERF_DEFAULTS_TIMEBASE = 1, TIMEBASE_PERIOD = 1, TIMEBASE_COUNTER = 4, SW_CPU_CLOCK = 1 };
enum {
	INTERNED_CATEGORIES = 1,
	INTERNED_EVENT_NAMES = 2,
	INTERNED_ANNOTATION_NAMES = 3,
	INTERNED_FUNCTION_NAMES = 5,
	INTERNED_FRAMES = 6,
	INTERNED_CALLSTACKS = 7,
	INTERNED_BUILD_IDS = 16,
	INTERNED_MAPPING_PATHS = 17,
	INTERNED_MAPPINGS = 19,
	INTERNED_ANNOTATION_TEXTS = 29,
};
enum { INTERNED_IID = 1, INTERNED_TEXT = 2 }; /* categories, names, texts */
enum { MAPPING_BUILD_ID = 2, MAPPING_PATHS = 7 };
enum { FRAME_FUNCTION = 2, FRAME_MAPPING = 3, FRAME_PC = 4 };
enum { CALLSTACK_FRAMES = 2 };
enum {
	TRACK_UUID = 1,
	TRACK_NAME = 2,
	TRACK_PROCESS_DESCRIPTOR = 3,
	TRACK_THREAD_DESCRIPTOR = 4,
	TRACK_PARENT_UUID = 5,
	TRACK_COUNTER_DESCRIPTOR = 8,
	TRACK_CHILD_ORDERING = 11,
	TRACK_SIBLING_ORDER_RANK = 12,
};
enum { CHILD_ORDERING_EXPLICIT = 3 };
enum { PROCESS_PID = 1, PROCESS_NAME = 6 };
enum { THREAD_PID = 1, THREAD_TID = 2, THREAD_NAME = 5 };
enum { COUNTER_UNIT = 3, COUNTER_UNIT_COUNT = 2 };
enum {
	EVENT_CATEGORY_IID = 3,
	EVENT_ANNOTATION = 4,
	EVENT_TYPE = 9,
	EVENT_NAME_IID = 10,
	EVENT_TRACK_UUID = 11,
	EVENT_NAME = 23,
	EVENT_COUNTER_VALUE = 30,
	EVENT_FLOW_ID = 47,
	EVENT_TERMINATING_FLOW_ID = 48,
	EVENT_CALLSTACK_IID = 56,
};
enum { TYPE_SLICE_BEGIN = 1, TYPE_SLICE_END = 2, TYPE_INSTANT = 3, TYPE_COUNTER = 4 };
enum {
	ANNOTATION_NAME_IID = 1,
	ANNOTATION_UINT = 3,
	ANNOTATION_DOUBLE = 5,
	ANNOTATION_TEXT = 6,
	ANNOTATION_NAME = 10,
	ANNOTATION_TEXT_IID = 17,
};
enum { SAMPLE_PID = 2, SAMPLE_TID = 3, SAMPLE_CALLSTACK_IID = 4, SAMPLE_CPU_MODE = 5 };
enum { CPU_MODE_KERNEL = 1, CPU_MODE_USER = 2 };

#define FLUSHED_BYTES (64u << 10)
#define UUID_OF_RUN 1u /* the track of the run's facts; tracks of the model follow */
#define UUID_OF_STATE (UINT64_C(1) << 40)   /* groups of counters of GPUs' state */
#define UUID_OF_COUNTER (UINT64_C(1) << 41) /* these counters */

enum category {
	CATEGORY_LAUNCH = 1,
	CATEGORY_WAIT,
	CATEGORY_CALL,
	CATEGORY_OFF_CPU,
	CATEGORY_RANGE,
	CATEGORY_WORK
};

enum annotation {
	NOTE_NAME = 1,
	NOTE_CORRELATION,
	NOTE_BYTES,
	NOTE_GRID,
	NOTE_BLOCK,
	NOTE_REGISTERS,
	NOTE_STATIC_SHARED,
	NOTE_DYNAMIC_SHARED,
	NOTE_GRAPH,
	NOTE_NODE,
	NOTE_OCCUPANCY,
	NOTE_LIMITS,
	NOTE_WAVES,
	NOTE_BANDWIDTH,
	NOTE_ERROR,
	NOTES /* names of metrics follow */
};

static const char *const notes[NOTES] = {
	[NOTE_NAME] = "name",
	[NOTE_CORRELATION] = "correlation",
	[NOTE_BYTES] = "bytes",
	[NOTE_GRID] = "grid",
	[NOTE_BLOCK] = "block",
	[NOTE_REGISTERS] = "registers per thread",
	[NOTE_STATIC_SHARED] = "static shared memory",
	[NOTE_DYNAMIC_SHARED] = "dynamic shared memory",
	[NOTE_GRAPH] = "graph",
	[NOTE_NODE] = "graph node",
	[NOTE_OCCUPANCY] = "theoretical occupancy %",
	[NOTE_LIMITS] = "occupancy limited by",
	[NOTE_WAVES] = "waves per SM",
	[NOTE_BANDWIDTH] = "memory bandwidth (GB/s)",
	[NOTE_ERROR] = "error",
};

/* Parts of a frame that are interned already. */
enum { HAS_NAME = 1, HAS_FULL_NAME = 2, HAS_FRAME = 4 };

struct perfetto {
	const struct result *result;
	const struct trace_tracks *tracks;
	struct trace_arguments *arguments;
	struct trace_state state;
	FILE *out;
	struct protobuf p;
	bool failed; /* out of memory */

	uint8_t *frames;          /* by frame: HAS_... */
	uint8_t *stacks, *shapes; /* by number: 1 if interned */
	uint32_t shape_count, shape_capacity;
	uint32_t limits; /* bits by enum occupancy_limit: interned */
	uint32_t *path;  /* frames of a stack, the innermost first */
	uint32_t path_capacity;

	RECORD_SET(const char *)
	modules;          /* the iid of a module's mapping is FRAME_CLASSES + 1 + its number */
	uint32_t classes; /* bits by class: the mapping for frames without a file is interned */

	uint32_t packet, interned; /* open messages; interned 0: none */
};

/* ---- packets ---- */

static void flush(struct perfetto *f, uint32_t beyond)
{
	f->failed |= f->p.failed;
	if (f->p.size <= beyond)
		return;
	fwrite(f->p.bytes, 1, f->p.size, f->out);
	protobuf_clear(&f->p);
}

static void begin_packet(struct perfetto *f, uint32_t flags)
{
	f->packet = protobuf_begin(&f->p, TRACE_PACKET);
	protobuf_uint(&f->p, PACKET_SEQUENCE_ID, 1);
	protobuf_uint(&f->p, PACKET_SEQUENCE_FLAGS, flags);
}

static void end_packet(struct perfetto *f)
{
	protobuf_end(&f->p, f->packet);
	flush(f, FLUSHED_BYTES);
}

static void begin_event_packet(struct perfetto *f, uint64_t time_ns)
{
	begin_packet(f, SEQUENCE_NEEDS_STATE);
	protobuf_uint(&f->p, PACKET_TIMESTAMP, time_ns);
	f->interned = 0;
}

/* ---- interned data ---- */

static void begin_interned(struct perfetto *f)
{
	if (!f->interned)
		f->interned = protobuf_begin(&f->p, PACKET_INTERNED_DATA);
}

static void end_interned(struct perfetto *f)
{
	if (f->interned)
		protobuf_end(&f->p, f->interned);
	f->interned = 0;
}

static void intern_text(struct perfetto *f, uint32_t field, uint64_t iid, const char *text)
{
	uint32_t place;

	begin_interned(f);
	place = protobuf_begin(&f->p, field);
	protobuf_uint(&f->p, INTERNED_IID, iid);
	protobuf_text(&f->p, INTERNED_TEXT, text);
	protobuf_end(&f->p, place);
}

static const char *full_name(const struct frame_info *frame)
{
	return frame->name ? frame->name : "";
}

static const char *event_name(const struct frame_info *frame)
{
	return frame->short_name ? frame->short_name : full_name(frame);
}

/* Interns the short name of a frame as an event's, and the full name if it differs. */
static void intern_names(struct perfetto *f, uint32_t number)
{
	const struct frame_info *frame = &f->result->frames[number];

	if (!(f->frames[number] & HAS_NAME))
		intern_text(f, INTERNED_EVENT_NAMES, number + UINT64_C(1), event_name(frame));
	f->frames[number] |= HAS_NAME;
	if (f->frames[number] & HAS_FULL_NAME || strcmp(event_name(frame), full_name(frame)) == 0)
		return;
	intern_text(f, INTERNED_ANNOTATION_TEXTS, number + UINT64_C(1), full_name(frame));
	f->frames[number] |= HAS_FULL_NAME;
}

/* ---- shapes ---- */

/* Returns the iid of a text of limits. Annotation texts are of frames, then limits, then shapes. */
static uint64_t limits_iid(const struct perfetto *f, unsigned int limits)
{
	return f->result->frame_count + UINT64_C(1) + limits;
}

static uint64_t shape_iid(const struct perfetto *f, uint32_t shape)
{
	return limits_iid(f, OCCUPANCY_LIMITS_ALL) + UINT64_C(2) * shape;
}

static void intern_limits(struct perfetto *f, unsigned int limits)
{
	char text[OCCUPANCY_LIMITS_BYTES];

	if (!limits || f->limits & 1u << limits)
		return;
	f->limits |= 1u << limits;
	intern_text(f, INTERNED_ANNOTATION_TEXTS, limits_iid(f, limits),
		    occupancy_limits_text(limits, text));
}

static void intern_dimensions(struct perfetto *f, uint64_t iid, const uint32_t size[3])
{
	char text[40];

	snprintf(text, sizeof(text), "%u, %u, %u", size[0], size[1], size[2]);
	intern_text(f, INTERNED_ANNOTATION_TEXTS, iid, text);
}

static void intern_shape(struct perfetto *f, uint32_t number)
{
	const struct timeline_shape *shape = timeline_shape(f->result->timeline, number);

	if (!shape)
		return;
	if (!array_extend(&f->shapes, &f->shape_count, number + 1, &f->shape_capacity, 1)) {
		f->failed = true;
		return;
	}
	if (f->shapes[number])
		return;
	f->shapes[number] = 1;
	intern_dimensions(f, shape_iid(f, number), shape->grid);
	intern_dimensions(f, shape_iid(f, number) + 1, shape->block);
}

/* ---- stacks ---- */

/* Interns a build id. Returns false if it is not hexadecimal, or too long. */
static bool intern_build_id(struct perfetto *f, uint64_t iid, const char *hex)
{
	unsigned char bytes[64];
	uint32_t size = 0, place;

	for (; hex[0] && hex[1] && size < sizeof(bytes); hex += 2) {
		const char digits[] = {hex[0], hex[1], '\0'};
		char *end;

		bytes[size++] = (unsigned char)strtoul(digits, &end, 16);
		if (*end)
			return false;
	}
	if (*hex || !size)
		return false;
	place = protobuf_begin(&f->p, INTERNED_BUILD_IDS);
	protobuf_uint(&f->p, INTERNED_IID, iid);
	protobuf_bytes(&f->p, INTERNED_TEXT, bytes, size);
	protobuf_end(&f->p, place);
	return true;
}

static void intern_mapping(struct perfetto *f, uint64_t iid, const char *path, const char *build_id)
{
	bool has_build_id;
	uint32_t place;

	begin_interned(f);
	intern_text(f, INTERNED_MAPPING_PATHS, iid, path[0] == '/' ? path + 1 : path);
	has_build_id = build_id && intern_build_id(f, iid, build_id);
	place = protobuf_begin(&f->p, INTERNED_MAPPINGS);
	protobuf_uint(&f->p, INTERNED_IID, iid);
	if (has_build_id)
		protobuf_uint(&f->p, MAPPING_BUILD_ID, iid);
	protobuf_uint(&f->p, MAPPING_PATHS, iid);
	protobuf_end(&f->p, place);
}

/* Returns the mapping of a frame's file. Frames without a file share one for each class. */
static uint64_t mapping_of(struct perfetto *f, const struct frame_info *frame)
{
	uint32_t known = f->modules.count, at;

	if (!frame->module) {
		if (!(f->classes & 1u << frame->class))
			intern_mapping(f, frame->class + UINT64_C(1),
				       frame_kind_label(frame_kind_of(frame)), NULL);
		f->classes |= 1u << frame->class;
		return frame->class + UINT64_C(1);
	}
	at = record_get(&f->modules, &frame->module, &frame->module);
	if (at == RECORD_NONE) {
		f->failed = true;
		return 0;
	}
	if (at == known)
		intern_mapping(f, FRAME_CLASSES + UINT64_C(1) + at, frame->module, frame->build_id);
	return FRAME_CLASSES + UINT64_C(1) + at;
}

static void intern_frame(struct perfetto *f, uint32_t number)
{
	const struct frame_info *frame = &f->result->frames[number];
	uint64_t iid = number + UINT64_C(1), mapping;
	uint32_t place;

	if (f->frames[number] & HAS_FRAME)
		return;
	f->frames[number] |= HAS_FRAME;
	mapping = mapping_of(f, frame);
	intern_text(f, INTERNED_FUNCTION_NAMES, iid, full_name(frame));
	place = protobuf_begin(&f->p, INTERNED_FRAMES);
	protobuf_uint(&f->p, INTERNED_IID, iid);
	protobuf_uint(&f->p, FRAME_FUNCTION, iid);
	protobuf_uint(&f->p, FRAME_MAPPING, mapping);
	/* readers merge frames with one pc, whatever their names are */
	protobuf_uint(&f->p, FRAME_PC, frame->module ? frame->offset : iid);
	protobuf_end(&f->p, place);
}

static void intern_stack(struct perfetto *f, uint32_t stack)
{
	uint32_t depth = 0, place;

	if (stack == RESULT_ROOT || f->stacks[stack])
		return;
	f->stacks[stack] = 1;
	for (uint32_t at = stack; at != RESULT_ROOT; at = f->result->stacks[at].outer) {
		if (!array_make_room(&f->path, depth, &f->path_capacity, sizeof(*f->path))) {
			f->failed = true;
			return;
		}
		f->path[depth++] = f->result->stacks[at].frame;
		intern_frame(f, f->result->stacks[at].frame);
	}
	begin_interned(f);
	place = protobuf_begin(&f->p, INTERNED_CALLSTACKS);
	protobuf_uint(&f->p, INTERNED_IID, stack + UINT64_C(1));
	while (depth-- > 0)
		protobuf_uint(&f->p, CALLSTACK_FRAMES, f->path[depth] + UINT64_C(1));
	protobuf_end(&f->p, place);
}

/* ---- start ---- */

static void put_clock(struct perfetto *f, uint32_t id, uint64_t time_ns)
{
	uint32_t place = protobuf_begin(&f->p, SNAPSHOT_CLOCKS);

	protobuf_uint(&f->p, CLOCK_ID, id);
	protobuf_uint(&f->p, CLOCK_TIMESTAMP, time_ns);
	protobuf_end(&f->p, place);
}

static void put_clocks(struct perfetto *f)
{
	const struct totals *t = &f->result->totals;
	uint32_t place;

	begin_packet(f, SEQUENCE_CLEARED);
	place = protobuf_begin(&f->p, PACKET_CLOCK_SNAPSHOT);
	put_clock(f, BUILTIN_CLOCK_MONOTONIC, t->start_ns);
	if (t->start_unix_ns)
		put_clock(f, BUILTIN_CLOCK_REALTIME, t->start_unix_ns);
	protobuf_uint(&f->p, SNAPSHOT_PRIMARY_CLOCK, BUILTIN_CLOCK_MONOTONIC);
	protobuf_end(&f->p, place);
	end_packet(f);
}

static const char *category_text(uint32_t category)
{
	static const char *const words[CATEGORY_WORK] = {[CATEGORY_LAUNCH] = "launch",
							 [CATEGORY_WAIT] = "wait",
							 [CATEGORY_CALL] = "call",
							 [CATEGORY_OFF_CPU] = "off the CPU",
							 [CATEGORY_RANGE] = "NVTX range"};

	return category < CATEGORY_WORK ? words[category] : work_word(category - CATEGORY_WORK);
}

static void put_metrics(struct perfetto *f)
{
	const struct counter_table *counters = f->result->counters;
	char name[TRACE_METRIC_BYTES];

	for (uint32_t i = 0; counters && i < counters->metric_count; i++)
		intern_text(f, INTERNED_ANNOTATION_NAMES, NOTES + i,
			    trace_metric_name(&counters->metrics[i], name));
}

/* Writes the defaults, and interned data that is always there. */
static void put_defaults(struct perfetto *f)
{
	uint32_t defaults, sample, timebase;

	begin_packet(f, SEQUENCE_NEEDS_STATE);
	defaults = protobuf_begin(&f->p, PACKET_DEFAULTS);
	protobuf_uint(&f->p, DEFAULTS_CLOCK_ID, BUILTIN_CLOCK_MONOTONIC);
	sample = protobuf_begin(&f->p, DEFAULTS_PERF_SAMPLE);
	timebase = protobuf_begin(&f->p, PERF_DEFAULTS_TIMEBASE);
	protobuf_uint(&f->p, TIMEBASE_PERIOD, f->result->totals.sample_ns);
	protobuf_uint(&f->p, TIMEBASE_COUNTER, SW_CPU_CLOCK);
	protobuf_end(&f->p, timebase);
	protobuf_end(&f->p, sample);
	protobuf_end(&f->p, defaults);
	for (uint32_t i = CATEGORY_LAUNCH; i < CATEGORY_WORK + GPU_WORKS; i++)
		intern_text(f, INTERNED_CATEGORIES, i, category_text(i));
	for (uint32_t i = NOTE_NAME; i < NOTES; i++)
		intern_text(f, INTERNED_ANNOTATION_NAMES, i, notes[i]);
	put_metrics(f);
	end_interned(f);
	end_packet(f);
}

static void put_fact(void *context, const char *name, const char *text, uint64_t number)
{
	struct perfetto *f = context;
	uint32_t place = protobuf_begin(&f->p, EVENT_ANNOTATION);

	protobuf_text(&f->p, ANNOTATION_NAME, name);
	if (text)
		protobuf_text(&f->p, ANNOTATION_TEXT, text);
	else
		protobuf_uint(&f->p, ANNOTATION_UINT, number);
	protobuf_end(&f->p, place);
}

/* Writes the facts of the run: an instant with annotations, on a track of its own. */
static void put_run(struct perfetto *f, const struct trace_model *model)
{
	const struct trace_sums sums = trace_model_sums(model);
	uint32_t place;

	begin_packet(f, SEQUENCE_NEEDS_STATE);
	place = protobuf_begin(&f->p, PACKET_TRACK_DESCRIPTOR);
	protobuf_uint(&f->p, TRACK_UUID, UUID_OF_RUN);
	protobuf_text(&f->p, TRACK_NAME, "profile");
	protobuf_end(&f->p, place);
	end_packet(f);
	begin_event_packet(f, sums.first_ns);
	place = protobuf_begin(&f->p, PACKET_TRACK_EVENT);
	protobuf_uint(&f->p, EVENT_TYPE, TYPE_INSTANT);
	protobuf_uint(&f->p, EVENT_TRACK_UUID, UUID_OF_RUN);
	protobuf_text(&f->p, EVENT_NAME, "the run: what is known of it, and what is missing");
	trace_facts(f->result, &sums, put_fact, f);
	protobuf_end(&f->p, place);
	end_packet(f);
}

/* ---- tracks ---- */

static uint64_t uuid_of(uint32_t track)
{
	return track + UINT64_C(1) + UUID_OF_RUN;
}

/* Writes the pid, or the pid and tid, by which viewers know a process or a thread. */
static void put_numbers(struct perfetto *f, const struct trace_track *track, const char *name)
{
	uint32_t pid = trace_track_pid(f->result, track), tid = trace_track_tid(track), place;

	if (track->kind == TRACK_PROCESS && pid) {
		place = protobuf_begin(&f->p, TRACK_PROCESS_DESCRIPTOR);
		protobuf_uint(&f->p, PROCESS_PID, pid);
		protobuf_text(&f->p, PROCESS_NAME, name);
		protobuf_end(&f->p, place);
	} else if (track->kind == TRACK_THREAD && pid && tid && !track->lane) {
		place = protobuf_begin(&f->p, TRACK_THREAD_DESCRIPTOR);
		protobuf_uint(&f->p, THREAD_PID, pid);
		protobuf_uint(&f->p, THREAD_TID, tid);
		protobuf_text(&f->p, THREAD_NAME, name);
		protobuf_end(&f->p, place);
	}
}

static void put_track(struct perfetto *f, uint32_t number)
{
	const struct trace_track *track = &f->tracks->list[number];
	char name[TRACE_NAME_BYTES];
	uint32_t place, counter;

	trace_track_name(f->result, track, name);
	begin_packet(f, SEQUENCE_NEEDS_STATE);
	place = protobuf_begin(&f->p, PACKET_TRACK_DESCRIPTOR);
	protobuf_uint(&f->p, TRACK_UUID, uuid_of(number));
	if (track->parent != TRACE_NO_TRACK)
		protobuf_uint(&f->p, TRACK_PARENT_UUID, uuid_of(track->parent));
	protobuf_text(&f->p, TRACK_NAME, name);
	put_numbers(f, track, name);
	if (track->kind == TRACK_RUNNING || track->kind == TRACK_QUEUED) {
		counter = protobuf_begin(&f->p, TRACK_COUNTER_DESCRIPTOR);
		protobuf_uint(&f->p, COUNTER_UNIT, COUNTER_UNIT_COUNT);
		protobuf_end(&f->p, counter);
	}
	protobuf_uint(&f->p, TRACK_CHILD_ORDERING, CHILD_ORDERING_EXPLICIT);
	protobuf_uint(&f->p, TRACK_SIBLING_ORDER_RANK, track->base);
	protobuf_end(&f->p, place);
	end_packet(f);
}

/* Writes the track of a GPU's state, or of a counter in it. */
static void put_state_track(struct perfetto *f, uint64_t uuid, uint64_t parent, const char *name)
{
	uint32_t place;

	begin_packet(f, SEQUENCE_NEEDS_STATE);
	place = protobuf_begin(&f->p, PACKET_TRACK_DESCRIPTOR);
	protobuf_uint(&f->p, TRACK_UUID, uuid);
	if (parent)
		protobuf_uint(&f->p, TRACK_PARENT_UUID, parent);
	protobuf_text(&f->p, TRACK_NAME, name);
	if (parent)
		protobuf_end(&f->p, protobuf_begin(&f->p, TRACK_COUNTER_DESCRIPTOR));
	protobuf_uint(&f->p, TRACK_CHILD_ORDERING, CHILD_ORDERING_EXPLICIT);
	protobuf_uint(&f->p, TRACK_SIBLING_ORDER_RANK, uuid & UINT32_MAX);
	protobuf_end(&f->p, place);
	end_packet(f);
}

static void put_state_tracks(struct perfetto *f)
{
	char name[TRACE_STATE_NAME_BYTES];

	for (uint32_t i = 0; i < f->state.courses.count; i++)
		put_state_track(f, UUID_OF_STATE + i, 0, trace_state_name(&f->state, i, name));
	for (uint32_t i = 0; i < f->state.count; i++)
		put_state_track(f, UUID_OF_COUNTER + i, UUID_OF_STATE + f->state.counters[i].gpu,
				trace_counter_name(&f->state.counters[i]));
}

/* ---- events ---- */

static void put_note(struct perfetto *f, uint32_t name, uint32_t field, uint64_t value)
{
	uint32_t place = protobuf_begin(&f->p, EVENT_ANNOTATION);

	protobuf_uint(&f->p, ANNOTATION_NAME_IID, name);
	protobuf_uint(&f->p, field, value);
	protobuf_end(&f->p, place);
}

static void put_real_note(struct perfetto *f, uint32_t name, double value)
{
	uint32_t place = protobuf_begin(&f->p, EVENT_ANNOTATION);
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	protobuf_uint(&f->p, ANNOTATION_NAME_IID, name);
	protobuf_fixed64(&f->p, ANNOTATION_DOUBLE, bits);
	protobuf_end(&f->p, place);
}

static void put_shape(struct perfetto *f, uint32_t number, const struct timeline_shape *shape)
{
	put_note(f, NOTE_GRID, ANNOTATION_TEXT_IID, shape_iid(f, number));
	put_note(f, NOTE_BLOCK, ANNOTATION_TEXT_IID, shape_iid(f, number) + 1);
	put_note(f, NOTE_REGISTERS, ANNOTATION_UINT, shape->registers);
	if (shape->static_shared)
		put_note(f, NOTE_STATIC_SHARED, ANNOTATION_UINT, shape->static_shared);
	if (shape->dynamic_shared)
		put_note(f, NOTE_DYNAMIC_SHARED, ANNOTATION_UINT, shape->dynamic_shared);
}

static void put_occupancy(struct perfetto *f, const struct trace_operation *operation)
{
	put_real_note(f, NOTE_OCCUPANCY, operation->occupancy_percent);
	put_note(f, NOTE_LIMITS, ANNOTATION_TEXT_IID, limits_iid(f, operation->limits));
	put_real_note(f, NOTE_WAVES, operation->waves);
}

static void put_values(struct perfetto *f, const struct trace_operation *operation)
{
	for (uint32_t i = 0; i < operation->value_count; i++) {
		const struct counter_value *value =
			&f->result->counters->values[operation->values[i]];

		put_real_note(f, NOTES + value->metric, value->value);
	}
}

static void put_notes(struct perfetto *f, const struct trace_event *event,
		      const struct trace_operation *operation)
{
	const struct timeline_record *record = event->record;
	char text[TRACE_ERROR_BYTES];
	const char *error = trace_error(f->result, record, event->stack, text);
	uint32_t place;

	if (error) {
		place = protobuf_begin(&f->p, EVENT_ANNOTATION);
		protobuf_uint(&f->p, ANNOTATION_NAME_IID, NOTE_ERROR);
		protobuf_text(&f->p, ANNOTATION_TEXT, error);
		protobuf_end(&f->p, place);
	}
	if (event->stack != RESULT_ROOT &&
	    f->frames[f->result->stacks[event->stack].frame] & HAS_FULL_NAME)
		put_note(f, NOTE_NAME, ANNOTATION_TEXT_IID,
			 f->result->stacks[event->stack].frame + UINT64_C(1));
	if (record->bytes && record->kind != TIMELINE_WAIT)
		put_note(f, NOTE_BYTES, ANNOTATION_UINT, record->bytes);
	if (operation->bytes_per_ns)
		put_real_note(f, NOTE_BANDWIDTH, operation->bytes_per_ns);
	if (operation->shape)
		put_shape(f, record->shape, operation->shape);
	if (operation->limits)
		put_occupancy(f, operation);
	if (record->graph_node) {
		put_note(f, NOTE_GRAPH, ANNOTATION_UINT, record->graph_node >> 32);
		put_note(f, NOTE_NODE, ANNOTATION_UINT, record->graph_node & UINT32_MAX);
	}
	if (record->correlation)
		put_note(f, NOTE_CORRELATION, ANNOTATION_UINT, record->correlation);
	put_values(f, operation);
}

static uint32_t category_of(const struct timeline_record *record)
{
	static const uint32_t calls[TIMELINE_KINDS] = {[TIMELINE_LAUNCH] = CATEGORY_LAUNCH,
						       [TIMELINE_WAIT] = CATEGORY_WAIT,
						       [TIMELINE_CALL] = CATEGORY_CALL,
						       [TIMELINE_OFF_CPU] = CATEGORY_OFF_CPU};

	if (calls[record->kind])
		return calls[record->kind];
	return CATEGORY_WORK + (record->work < GPU_WORKS ? record->work : 0);
}

static uint32_t begin_event_on(struct perfetto *f, uint32_t type, uint64_t uuid)
{
	uint32_t place = protobuf_begin(&f->p, PACKET_TRACK_EVENT);

	protobuf_uint(&f->p, EVENT_TYPE, type);
	protobuf_uint(&f->p, EVENT_TRACK_UUID, uuid);
	return place;
}

static uint32_t begin_event(struct perfetto *f, uint32_t type, uint32_t track)
{
	return begin_event_on(f, type, uuid_of(track));
}

/* Writes the begin of a slice, or an instant. */
static void put_record(struct perfetto *f, const struct trace_event *event, uint32_t type)
{
	const struct frame_info *frame = trace_frame(f->result, event->stack);
	struct trace_operation operation = trace_arguments_of(f->arguments, event->record);
	bool is_sample = event->record->kind == TIMELINE_CPU_SAMPLE;
	uint32_t place;

	if (frame)
		intern_names(f, f->result->stacks[event->stack].frame);
	intern_stack(f, event->stack);
	intern_shape(f, event->record->shape);
	intern_limits(f, operation.limits);
	end_interned(f);
	place = begin_event(f, type, event->track);
	if (!is_sample)
		protobuf_uint(&f->p, EVENT_CATEGORY_IID, category_of(event->record));
	if (frame && !is_sample)
		protobuf_uint(&f->p, EVENT_NAME_IID,
			      f->result->stacks[event->stack].frame + UINT64_C(1));
	else
		protobuf_text(&f->p, EVENT_NAME, trace_kind_word(event->record->kind));
	for (uint32_t i = 0; i < event->flow_count; i++)
		protobuf_fixed64(&f->p,
				 event->record->kind == TIMELINE_LAUNCH ? EVENT_FLOW_ID
									: EVENT_TERMINATING_FLOW_ID,
				 event->first_flow + UINT64_C(0) + i);
	if (event->stack != RESULT_ROOT)
		protobuf_uint(&f->p, EVENT_CALLSTACK_IID, event->stack + UINT64_C(1));
	put_notes(f, event, &operation);
	protobuf_end(&f->p, place);
}

/* Writes a CPU sample as one of perf, if pid and tid are known; else as an instant. */
static void put_sample(struct perfetto *f, const struct trace_event *event)
{
	const struct trace_track *track = &f->tracks->list[event->track];
	const struct frame_info *frame = trace_frame(f->result, event->stack);
	uint32_t pid = trace_track_pid(f->result, track), tid = trace_track_tid(track), place;

	if (!pid || !tid) {
		put_record(f, event, TYPE_INSTANT);
		return;
	}
	intern_stack(f, event->stack);
	end_interned(f);
	place = protobuf_begin(&f->p, PACKET_PERF_SAMPLE);
	protobuf_uint(&f->p, SAMPLE_PID, pid);
	protobuf_uint(&f->p, SAMPLE_TID, tid);
	if (frame)
		protobuf_uint(&f->p, SAMPLE_CALLSTACK_IID, event->stack + UINT64_C(1));
	protobuf_uint(&f->p, SAMPLE_CPU_MODE,
		      frame && frame->class == CLASS_KERNEL_MODE ? CPU_MODE_KERNEL : CPU_MODE_USER);
	protobuf_end(&f->p, place);
}

static void put_range(struct perfetto *f, const struct trace_event *event)
{
	uint32_t place;

	intern_names(f, event->frame);
	end_interned(f);
	place = begin_event(f, TYPE_SLICE_BEGIN, event->track);
	protobuf_uint(&f->p, EVENT_CATEGORY_IID, CATEGORY_RANGE);
	protobuf_uint(&f->p, EVENT_NAME_IID, event->frame + UINT64_C(1));
	protobuf_end(&f->p, place);
}

static void put_counter(struct perfetto *f, uint64_t time_ns, uint64_t uuid, uint64_t value)
{
	uint32_t place;

	begin_event_packet(f, time_ns);
	place = begin_event_on(f, TYPE_COUNTER, uuid);
	protobuf_uint(&f->p, EVENT_COUNTER_VALUE, value);
	protobuf_end(&f->p, place);
	end_packet(f);
}

static void put_counters(struct perfetto *f, const struct trace_event *event)
{
	if (event->running_changed)
		put_counter(f, event->time_ns, uuid_of(trace_tracks_running(event->track)),
			    event->running);
	if (event->queued_changed)
		put_counter(f, event->time_ns, uuid_of(trace_tracks_queued(event->track)),
			    event->queued);
}

static void put_state(void *context, uint32_t counter, uint64_t time_ns, uint64_t value)
{
	put_counter(context, time_ns, UUID_OF_COUNTER + counter, value);
}

static void put_event(void *context, const struct trace_event *event)
{
	struct perfetto *f = context;

	if (event->kind == TRACE_TRACK) {
		put_track(f, event->track);
		return;
	}
	trace_state_until(&f->state, event->time_ns, put_state, f);
	if (event->kind == TRACE_COUNTERS) {
		put_counters(f, event);
		return;
	}
	begin_event_packet(f, event->time_ns);
	switch (event->kind) {
	case TRACE_BEGIN:
		put_record(f, event, TYPE_SLICE_BEGIN);
		break;
	case TRACE_INSTANT:
		put_record(f, event, TYPE_INSTANT);
		break;
	case TRACE_SAMPLE:
		put_sample(f, event);
		break;
	case TRACE_RANGE_BEGIN:
		put_range(f, event);
		break;
	default:
		protobuf_end(&f->p, begin_event(f, TYPE_SLICE_END, event->track));
	}
	end_packet(f);
}

/* ---- all of it ---- */

static int put_trace(struct perfetto *f, struct trace_model *model)
{
	int err;

	f->frames = calloc(f->result->frame_count + 1u, 1);
	f->stacks = calloc(f->result->stack_count + 1u, 1);
	f->arguments = trace_arguments_new(f->result);
	if (!f->frames || !f->stacks || !f->arguments ||
	    trace_state_init(&f->state, f->result) != 0)
		return -ENOMEM;
	put_clocks(f);
	put_defaults(f);
	put_run(f, model);
	for (uint32_t i = 0; i < f->tracks->first_count; i++)
		put_track(f, i);
	put_state_tracks(f);
	err = trace_model_run(model, put_event, f);
	trace_state_until(&f->state, UINT64_MAX, put_state, f);
	flush(f, 0);
	return f->failed ? -ENOMEM : err;
}

static int write_perfetto(const struct result *result, const struct writer_options *options,
			  FILE *out, struct written *written)
{
	struct trace_model *model = trace_model_new(result);
	struct perfetto f = {.result = result, .out = out};
	int err;

	(void)options;
	if (!model)
		return -errno;
	f.tracks = trace_model_tracks(model);
	*written = trace_model_written(model);
	err = put_trace(&f, model);
	protobuf_release(&f.p);
	free(f.frames);
	free(f.stacks);
	free(f.shapes);
	trace_arguments_free(f.arguments);
	trace_state_release(&f.state);
	free(f.path);
	record_set_release(&f.modules.set);
	trace_model_free(model);
	if (err)
		return err;
	return ferror(out) ? -EIO : 0;
}

const struct writer perfetto_writer = {.name = "perfetto",
				       .suffix = ".perfetto-trace",
				       .other_suffix = ".pftrace",
				       .item = "event",
				       .needs = NEEDS_TIMELINE,
				       .is_timeline = true,
				       .write = write_perfetto};
