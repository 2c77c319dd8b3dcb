// SPDX-License-Identifier: MIT
#include "profiler/addons/idle.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include "profiler/addons/idle_gaps.h"
#include "profiler/model/pseudo_frames.h"
#include "symbolize/util/array.h"
#include "symbolize/util/saturate.h"

#define IDLE_DEVICES_MAX 1024u /* over all processes */
#define SLOTS 4096u /* time slots of the run; records in each are counted to choose segments */
#define ROOT_BYTES (DEVICE_LABEL_BYTES + DEVICE_UUID_BYTES + 16)

/* Root frame of a device's rows, and the process and number by which the device is labelled. */
struct root {
	uint32_t process, id;
	struct stack_id stack; /* "[GPU 0 idle]" */
};

/* Number of a device in the launching thread's process: the last lookup. */
struct known_device {
	uint32_t number, process, id;
};

struct finishing {
	struct idle *idle;
	struct idle_segment segment;
	uint32_t operation_capacity, off_cpu_capacity, sample_capacity;
	struct idle_thread *threads;
	struct idle_device *devices;
	struct root *roots;
	struct known_device known;
	uint32_t *device_of; /* by number in records: the first number of that device */
	uint32_t slots[SLOTS];
	uint64_t from_ns, to_ns;
};

int idle_init(struct idle *idle, const struct addon_parts *parts)
{
	idle->parts = parts;
	if (!idle->segment_records)
		idle->segment_records = IDLE_SEGMENT_RECORDS;
	if (!idle->segment_max)
		idle->segment_max = IDLE_SEGMENT_MAX;
	if (places_init(&idle->threads, 1u << PLACE_PROCESS | 1u << PLACE_THREAD) != 0 ||
	    places_init(&idle->devices, 1u << PLACE_PROCESS | 1u << PLACE_DEVICE) != 0)
		return -ENOMEM;
	idle->threads.memory = idle->devices.memory = parts->from_target;
	return 0;
}

void idle_release(struct idle *idle)
{
	places_release(&idle->threads);
	places_release(&idle->devices);
}

/* ---- input ---- */

static struct ledger_idle *ledger_of(const struct idle *idle)
{
	return &idle->parts->sink->ledger->idle;
}

/* Returns the number of devices. Programs may claim any number, so they are limited. */
static uint32_t device_count(const struct idle *idle)
{
	return idle->devices.count < IDLE_DEVICES_MAX ? idle->devices.count : DEVICES_MAX;
}

void idle_add(struct idle *idle, struct idle_where where, const struct timeline_record *event)
{
	struct timeline_record kept = *event;
	struct place place = place_unknown();

	if (event->duration_ns == 0 &&
	    (event->kind == IDLE_KIND_OPERATION || event->kind == IDLE_KIND_OFF_CPU))
		return;
	place.part[PLACE_PROCESS] = where.process;
	if (event->kind == IDLE_KIND_OPERATION) {
		place.part[PLACE_DEVICE] = event->work;
		kept.work = places_add(&idle->devices, &place).number;
		if (kept.work >= IDLE_DEVICES_MAX) {
			ledger_of(idle)->lost++;
			return;
		}
	}
	place.part[PLACE_THREAD] = where.tid;
	kept.place = places_add(&idle->threads, &place);
	timeline_add(idle->parts->idle_store, &kept);
}

/* ---- devices and threads, over the whole run ---- */

static bool is_same_device(const struct idle *idle, const struct place *a, const struct place *b)
{
	const struct device *x =
		devices_find(idle->parts->devices, a->part[PLACE_PROCESS], a->part[PLACE_DEVICE]);
	const struct device *y =
		devices_find(idle->parts->devices, b->part[PLACE_PROCESS], b->part[PLACE_DEVICE]);

	return x && y ? device_is_same(x, y)
		      : !x && !y && a->part[PLACE_DEVICE] == b->part[PLACE_DEVICE];
}

/* Returns the process and number by which busy.h labels the device: the first that described it. */
static struct root root_of(const struct idle *idle, const struct place *place)
{
	const struct devices *devices = idle->parts->devices;
	const struct device *own =
		devices_find(devices, place->part[PLACE_PROCESS], place->part[PLACE_DEVICE]);

	for (uint32_t i = 0; own && i < devices->count; i++)
		if (device_is_same(&devices->list[i], own))
			return (struct root){devices->list[i].process, devices->list[i].id,
					     STACK_EMPTY};
	return (struct root){place->part[PLACE_PROCESS], place->part[PLACE_DEVICE], STACK_EMPTY};
}

static void find_devices(struct finishing *f)
{
	const struct places *devices = &f->idle->devices;

	for (uint32_t i = 0; i < device_count(f->idle); i++) {
		const struct place *place = &devices->list[i];
		uint32_t first = 0;

		while (first < i && (f->device_of[first] != first ||
				     !is_same_device(f->idle, &devices->list[first], place)))
			first++;
		f->device_of[i] = first;
		if (first == i)
			f->roots[i] = root_of(f->idle, place);
		f->devices[i].first_ns = UINT64_MAX;
	}
	f->known.number = UINT32_MAX;
	for (uint32_t i = 0; i < f->idle->threads.count; i++)
		f->threads[i] = (struct idle_thread){0, IDLE_NEVER};
}

/* Cuts a record to the run. Returns false if nothing is left. */
static bool is_in_run(const struct finishing *f, const struct timeline_record *record,
		      uint64_t *start_ns, uint64_t *end_ns)
{
	*start_ns = record->start_ns > f->from_ns ? record->start_ns : f->from_ns;
	*end_ns = timeline_end_ns(record) < f->to_ns ? timeline_end_ns(record) : f->to_ns;
	return *start_ns < *end_ns;
}

static void scan_device(struct finishing *f, const struct timeline_record *record)
{
	struct idle_device *device;
	uint64_t start_ns, end_ns;

	if (record->work >= device_count(f->idle) || !is_in_run(f, record, &start_ns, &end_ns))
		return;
	device = &f->devices[f->device_of[record->work]];
	device->is_used = true;
	device->launched_ns = IDLE_NEVER;
	if (start_ns < device->first_ns)
		device->first_ns = start_ns;
	if (end_ns < device->last_ns)
		return;
	device->last_ns = end_ns;
	device->thread = record->place.number;
	device->launch = record->stack;
}

static void scan_thread(struct finishing *f, const struct timeline_record *record)
{
	struct idle_thread *thread;

	if (same_id(record->place, PLACE_NOWHERE) || record->place.number >= f->idle->threads.count)
		return;
	thread = &f->threads[record->place.number];
	*(record->kind == IDLE_KIND_BEGIN ? &thread->from_ns : &thread->to_ns) = record->start_ns;
}

static uint32_t slot_of(const struct finishing *f, uint64_t ns)
{
	unsigned __int128 at = ns > f->from_ns ? ns - f->from_ns : 0;

	at = at * SLOTS / (f->to_ns - f->from_ns);
	return at < SLOTS ? (uint32_t)at : SLOTS - 1;
}

/* Returns the first moment of a slot: slot_of(slot_start(n)) is n. */
static uint64_t slot_start(const struct finishing *f, uint32_t slot)
{
	unsigned __int128 whole = f->to_ns - f->from_ns;

	return f->from_ns + (uint64_t)((whole * slot + SLOTS - 1) / SLOTS);
}

/* Calls `take` for each record. Returns false if not all can be read. */
static bool read_all(struct finishing *f,
		     void (*take)(struct finishing *f, const struct timeline_record *record))
{
	struct timeline_reader *reader = timeline_reader_new(f->idle->parts->idle_store);
	const struct timeline_record *record;
	int more = reader ? 1 : -1;

	while (more == 1 && (more = timeline_reader_next(reader, &record)) == 1)
		take(f, record);
	timeline_reader_free(reader);
	return more == 0;
}

static void scan(struct finishing *f, const struct timeline_record *record)
{
	if (record->kind == IDLE_KIND_BEGIN || record->kind == IDLE_KIND_END) {
		scan_thread(f, record);
		return;
	}
	if (record->kind == IDLE_KIND_OPERATION)
		scan_device(f, record);
	f->slots[slot_of(f, record->start_ns)]++;
}

/* ---- frames ---- */

static struct stack_id push(const struct finishing *f, struct stack_id outer, const char *text)
{
	return stack_table_push_text(f->idle->parts->stacks, outer, FRAME_MARK, text);
}

static void make_roots(struct finishing *f)
{
	const struct addon_parts *parts = f->idle->parts;
	char label[DEVICE_LABEL_BYTES], text[ROOT_BYTES];
	const char *kept;

	for (uint32_t i = 0; i < device_count(f->idle); i++) {
		if (!f->devices[i].is_used)
			continue;
		ledger_of(f->idle)->devices++;
		saturated_add(&ledger_of(f->idle)->whole_ns, f->to_ns - f->from_ns);
		devices_label(parts->devices, f->roots[i].process, f->roots[i].id, label);
		snprintf(text, ROOT_BYTES, PSEUDO_IDLE_START "%s" PSEUDO_IDLE_END, label);
		kept = parts->keep(parts->context, text);
		f->roots[i].stack = stack_table_push_text(
			parts->stacks, STACK_EMPTY, FRAME_IDLE,
			kept ? kept : PSEUDO_IDLE_START "GPU" PSEUDO_IDLE_END);
	}
}

/* Returns the mark to put below the launch, or NULL. */
static const char *mark_of(enum idle_part part, enum idle_reason reason)
{
	switch (reason) {
	case IDLE_LAUNCHED:
		return PSEUDO_NOT_BEGUN;
	case IDLE_NO_LAUNCH:
		return PSEUDO_NO_LAUNCH;
	case IDLE_NO_THREAD:
		return part == IDLE_AFTER ? PSEUDO_THREAD_ENDED : PSEUDO_NO_THREAD;
	case IDLE_UNSAMPLED:
		return PSEUDO_NOT_SAMPLED;
	default:
		return NULL;
	}
}

static uint64_t *sum_of(struct ledger_idle *ledger, enum idle_part part, enum idle_reason reason)
{
	if (part != IDLE_BETWEEN)
		return part == IDLE_BEFORE ? &ledger->before_ns : &ledger->after_ns;
	switch (reason) {
	case IDLE_OFF_CPU:
		return &ledger->off_cpu_ns;
	case IDLE_COMPUTING:
		return &ledger->computing_ns;
	case IDLE_LAUNCHED:
		return &ledger->launched_ns;
	default:
		return &ledger->unknown_ns;
	}
}

/* Returns the launching thread, and the device as numbered by its process. */
static struct place place_of(struct finishing *f, const struct idle_charge *charge)
{
	const struct places *devices = &f->idle->devices;
	const struct root *root = &f->roots[charge->device];
	struct known_device *known = &f->known;
	struct place place = place_unknown();

	if (charge->thread < f->idle->threads.count)
		place = f->idle->threads.list[charge->thread];
	if (known->number != charge->device || known->process != place.part[PLACE_PROCESS]) {
		*known = (struct known_device){charge->device, place.part[PLACE_PROCESS],
					       PLACE_UNKNOWN};
		for (uint32_t i = 0; i < devices->count && known->id == PLACE_UNKNOWN; i++)
			if (f->device_of[i] == charge->device &&
			    devices->list[i].part[PLACE_PROCESS] == known->process)
				known->id = devices->list[i].part[PLACE_DEVICE];
	}
	place.part[PLACE_DEVICE] = known->id;
	if (known->id == PLACE_UNKNOWN) {
		place.part[PLACE_PROCESS] = root->process;
		place.part[PLACE_DEVICE] = root->id;
	}
	return place;
}

/*
 * Returns whether the charge's stack is shown. Nothing is launched after the last operation, and
 * nothing leads to a launch before the thread exists.
 */
static bool has_stack(const struct idle_charge *charge, const char *mark)
{
	if (same_id(charge->stack, STACK_EMPTY) || charge->reason == IDLE_NO_LAUNCH)
		return false;
	if (charge->part == IDLE_AFTER)
		return !mark;
	return charge->part != IDLE_BEFORE || charge->reason != IDLE_NO_THREAD;
}

static void add_row(void *context, const struct idle_charge *charge)
{
	struct finishing *f = context;
	const struct addon_parts *parts = f->idle->parts;
	const struct root *root = &f->roots[charge->device];
	const char *mark = mark_of(charge->part, charge->reason);
	struct place place = place_of(f, charge);
	struct stack_id stack = root->stack;

	if (charge->part != IDLE_BETWEEN)
		stack = push(f, stack,
			     charge->part == IDLE_BEFORE ? PSEUDO_BEFORE_FIRST : PSEUDO_AFTER_LAST);
	if (has_stack(charge, mark))
		stack = stack_table_append(parts->stacks, stack, charge->stack);
	if (mark)
		stack = push(f, stack, mark);
	profile_add(parts->sink->profile, ROW_IDLE, stack, places_add(parts->places, &place),
		    charge->ns, 0);
	saturated_add(sum_of(ledger_of(f->idle), charge->part, charge->reason), charge->ns);
}

/* ---- segments ---- */

static void take_activity(struct finishing *f, struct idle_activity **list, uint32_t *count,
			  uint32_t *capacity, const struct timeline_record *record)
{
	if (*count >= f->idle->segment_max ||
	    !array_make_room(list, *count, capacity, sizeof(**list)))
		ledger_of(f->idle)->lost++;
	else
		(*list)[(*count)++] =
			(struct idle_activity){record->start_ns, timeline_end_ns(record),
					       record->place.number, record->stack};
}

static void take_operation(struct finishing *f, const struct timeline_record *record)
{
	struct idle_segment *s = &f->segment;

	if (record->work >= device_count(f->idle))
		return;
	if (s->operation_count >= f->idle->segment_max ||
	    !array_make_room(&s->operations, s->operation_count, &f->operation_capacity,
			     sizeof(*s->operations)))
		ledger_of(f->idle)->lost++;
	else
		s->operations[s->operation_count++] =
			(struct idle_operation){.start_ns = record->start_ns,
						.end_ns = timeline_end_ns(record),
						.launched_ns = record->bytes,
						.device = f->device_of[record->work],
						.thread = record->place.number,
						.launch = record->stack};
}

static void take(struct finishing *f, const struct timeline_record *record)
{
	struct idle_segment *s = &f->segment;
	bool is_sample = record->kind == IDLE_KIND_SAMPLE;

	if (record->start_ns >= s->to_ns || (is_sample && record->start_ns < s->from_ns) ||
	    (!is_sample && timeline_end_ns(record) <= s->from_ns))
		return;
	if (record->kind == IDLE_KIND_OPERATION)
		take_operation(f, record);
	else if (is_sample)
		take_activity(f, &s->samples, &s->sample_count, &f->sample_capacity, record);
	else if (record->kind == IDLE_KIND_OFF_CPU)
		take_activity(f, &s->off_cpu, &s->off_cpu_count, &f->off_cpu_capacity, record);
}

/* Charges segments of whole slots, the last segment first. */
static bool charge_segments(struct finishing *f)
{
	struct idle_segment *s = &f->segment;
	uint32_t end = SLOTS, first;

	for (; end > 0; end = first) {
		uint64_t records = f->slots[end - 1];

		for (first = end - 1; first > 0; first--) {
			records += f->slots[first - 1];
			if (records > f->idle->segment_records)
				break;
		}
		s->from_ns = slot_start(f, first);
		s->to_ns = slot_start(f, end);
		s->operation_count = s->off_cpu_count = s->sample_count = 0;
		if (!read_all(f, take))
			return false;
		if (idle_gaps_charge(s, add_row, f) != 0)
			ledger_of(f->idle)->lost++;
	}
	return true;
}

static void release(struct finishing *f)
{
	free(f->segment.operations);
	free(f->segment.off_cpu);
	free(f->segment.samples);
	free(f->threads);
	free(f->devices);
	free(f->roots);
	free(f->device_of);
	free(f);
}

void idle_finish(struct idle *idle, uint64_t from_ns, uint64_t to_ns, uint64_t sample_ns)
{
	struct finishing *f = calloc(1, sizeof(*f));
	struct ledger_idle *ledger = ledger_of(idle);
	bool has_read = false;

	timeline_finish(idle->parts->idle_store);
	ledger->lost += timeline_stats(idle->parts->idle_store).lost;
	if (!f || to_ns <= from_ns)
		goto out;
	f->idle = idle;
	f->from_ns = from_ns;
	f->to_ns = to_ns;
	f->threads = calloc(idle->threads.count + (size_t)1, sizeof(*f->threads));
	f->devices = calloc(device_count(idle) + (size_t)1, sizeof(*f->devices));
	f->roots = calloc(device_count(idle) + (size_t)1, sizeof(*f->roots));
	f->device_of = calloc(device_count(idle) + (size_t)1, sizeof(*f->device_of));
	if (!f->threads || !f->devices || !f->roots || !f->device_of)
		goto out;
	find_devices(f);
	if (!read_all(f, scan))
		goto out;
	make_roots(f);
	f->segment.sample_ns = sample_ns;
	f->segment.threads = f->threads;
	f->segment.thread_count = idle->threads.count;
	f->segment.devices = f->devices;
	f->segment.device_count = device_count(idle);
	has_read = charge_segments(f);
out:
	ledger->lost += !has_read && to_ns > from_ns;
	if (f)
		release(f);
}

/* ---- as an add-on ---- */

static bool is_wanted(const struct addon_parts *parts)
{
	return parts->idle_store != NULL;
}

static void release_addon(void *addon)
{
	idle_release(addon);
	free(addon);
}

static void *begin(const struct addon_parts *parts)
{
	struct idle *idle = calloc(1, sizeof(*idle));

	if (!idle || idle_init(idle, parts) == 0)
		return idle;
	release_addon(idle);
	return NULL;
}

/*
 * Passes a record of the store through the sink. In the note, `error` is the record's kind. `work`
 * is the process's number of the device, and `correlation` and `shape` are the process and thread.
 */
static void keep(void *addon, const struct timeline_record *record, uint32_t process, uint32_t tid)
{
	struct idle *idle = addon;
	struct profile_item note = {.record = *record, .flags = ITEM_LASTS};

	note.record.error = record->kind;
	note.record.kind = NOTE_IDLE;
	note.record.place = PLACE_NOWHERE;
	note.record.correlation = process;
	note.record.shape = tid;
	profile_sink_add(idle->parts->sink, &note);
}

static void keep_operation(void *addon, const struct addon_operation *operation)
{
	const struct gpu_operation *o = operation->operation;
	struct idle *idle = addon;

	if (o->bad_time)
		return;
	keep(idle,
	     &(struct timeline_record){
		     .kind = IDLE_KIND_OPERATION,
		     .start_ns = o->start_ns,
		     .duration_ns = o->duration_ns,
		     .bytes = operation->launched_ns,
		     .stack = gpu_stack_launch(idle->parts->gpu_stacks, operation->origin->launch),
		     .work = o->device},
	     o->process, operation->thread);
}

static void keep_time(void *addon, const struct thread_time *time)
{
	if (time->kind == ROW_CPU)
		keep(addon,
		     &(struct timeline_record){.kind = IDLE_KIND_SAMPLE,
					       .start_ns = time->start_ns,
					       .duration_ns = 1, /* else no part of it is wanted */
					       .stack = time->stack},
		     time->process, time->tid);
}

static void keep_off_cpu(void *addon, const struct thread_time *time)
{
	keep(addon,
	     &(struct timeline_record){.kind = IDLE_KIND_OFF_CPU,
				       .start_ns = time->start_ns,
				       .duration_ns = time->end_ns - time->start_ns,
				       .stack = time->stack},
	     time->process, time->tid);
}

static void begin_thread(void *addon, uint32_t process, uint32_t tid, uint64_t time_ns)
{
	keep(addon, &(struct timeline_record){.kind = IDLE_KIND_BEGIN, .start_ns = time_ns},
	     process, tid);
}

static void end_thread(void *addon, uint32_t process, uint32_t tid, uint64_t time_ns)
{
	keep(addon, &(struct timeline_record){.kind = IDLE_KIND_END, .start_ns = time_ns}, process,
	     tid);
}

/* Adds a kept record. */
static void take_note(void *addon, const struct profile_item *note)
{
	struct idle *idle = addon;
	const struct idle_where where = {note->record.correlation, note->record.shape};
	struct timeline_record record = note->record;

	record.kind = (uint8_t)record.error;
	record.error = 0;
	record.correlation = record.shape = 0;
	idle_add(idle, where, &record);
}

static void complete(void *addon, uint64_t from_ns, uint64_t to_ns)
{
	struct idle *idle = addon;

	idle_finish(idle, from_ns, to_ns, idle->parts->sample_ns);
}

const struct addon addon_idle = {
	.is_wanted = is_wanted,
	.begin = begin,
	.release = release_addon,
	.needs_threads = true,
	.needs_devices = true,
	.operation = keep_operation,
	.time = keep_time,
	.off_cpu = keep_off_cpu,
	.begin_thread = begin_thread,
	.end_thread = end_thread,
	.notes = ADDON_NOTE(NOTE_IDLE),
	.note = take_note,
	.complete = complete,
};
