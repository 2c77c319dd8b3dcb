/* SPDX-License-Identifier: MIT */
/* Random results of runs, with a timeline that agrees with the rows. */
#ifndef TESTS_UNIT_RANDOM_RESULT_H
#define TESTS_UNIT_RANDOM_RESULT_H

#include "made_result.h"
#include "own_folder.h"
#include "profiler/model/pseudo_frames.h"
#include "profiler/model/work_names.h"

#define RANDOM_START_NS 1000000000u
#define RANDOM_RUN_NS 1000000u
#define RANDOM_PROCESSES 3u
#define RANDOM_RECORDS_MAX 200u

struct random_result {
	struct made_result made;
	struct ledger ledger;
	struct timeline *timeline;
	struct timeline_record records[RANDOM_RECORDS_MAX]; /* in the order of adding */
	uint32_t record_count;
};

static const char *const random_names[] = {"main",  "f<int>", "\xc3\xa4",
					   "a b;c", "[x]",    "<script>"};

static inline struct place random_place(struct prng *p)
{
	struct place place;

	for (uint32_t i = 0; i < PLACE_PARTS; i++)
		place.part[i] = prng_chance(p, 30) ? PLACE_UNKNOWN
						   : (uint32_t)prng_below(p, RANDOM_PROCESSES);
	return place;
}

/* Pushes a frame, with the members that frames of this class have. */
static inline uint32_t random_push(struct prng *p, struct made_result *m, uint32_t outer,
				   enum frame_class class, const char *name)
{
	static const char *const files[] = {"/a/x.py", "/b/x.py", NULL};
	static const char *const modules[] = {"/lib/a.so", "/lib/b.so", NULL};
	static const char *const ids[] = {"abcdef", NULL};
	uint32_t stack = made_push(m, outer, name);
	struct frame_info *frame = &m->frames[m->result.frame_count - 1];

	frame->class = class;
	frame->short_name = name + (name[0] == '[' && name[1] ? 1 : 0);
	if (class == CLASS_PYTHON) {
		frame->file = files[prng_below(p, 3)];
		frame->line = (uint32_t)prng_bits(p, 32);
	}
	if (class == CLASS_NATIVE) {
		frame->module = modules[prng_below(p, 3)];
		frame->build_id = frame->module ? ids[frame->module == modules[0]] : NULL;
		frame->offset = prng_bits(p, 64);
	}
	return stack;
}

static inline uint32_t random_stack(struct prng *p, struct made_result *m)
{
	static const enum frame_class classes[] = {CLASS_NATIVE, CLASS_PYTHON, CLASS_JIT,
						   CLASS_NVTX};
	uint32_t stack = RESULT_ROOT;

	for (uint64_t i = prng_below(p, 6); i > 0; i--)
		stack = random_push(p, m, stack, classes[prng_below(p, 4)],
				    random_names[prng_below(p, 6)]);
	return stack;
}

/* Adds a record, and its part of a row. */
static inline void random_record(struct prng *p, struct random_result *r)
{
	static const enum row_kind kinds[TIMELINE_KINDS] = {[TIMELINE_CPU_SAMPLE] = ROW_CPU,
							    [TIMELINE_GPU_OPERATION] = ROW_GPU,
							    [TIMELINE_WAIT] = ROW_WAIT,
							    [TIMELINE_CALL] = ROW_CALL};
	static const char *const kernels[] = {"[GPU_Kernel]k", "[GPU_Kernel]softmax<float>"};
	struct made_result *m = &r->made;
	struct place place = random_place(p);
	struct timeline_record record = {.kind = (uint8_t)prng_below(p, TIMELINE_KINDS),
					 .start_ns = RANDOM_START_NS + prng_below(p, RANDOM_RUN_NS),
					 .duration_ns = prng_bits(p, 18),
					 .correlation = (uint32_t)prng_bits(p, 32),
					 .stack = {random_stack(p, m)}};
	struct timeline_shape shape = {.grid = {(uint32_t)prng_below(p, 4)}, .registers = 7};
	struct row row = {.kind = kinds[record.kind], .count = 1, .ns = record.duration_ns};
	bool is_row = record.kind != TIMELINE_LAUNCH && record.kind != TIMELINE_OFF_CPU;

	switch (record.kind) {
	case TIMELINE_GPU_OPERATION:
		record.stack.number = random_push(p, m, record.stack.number, CLASS_GPU_KERNEL,
						  kernels[prng_below(p, 2)]);
		record.bytes = row.bytes = prng_bits(p, 30);
		record.graph_node = prng_bits(p, 64);
		record.shape = timeline_number_shape(r->timeline, &shape);
		record.work = (uint32_t)prng_below(p, GPU_WORKS);
		row.stack = record.stack.number;
		is_row = !gpu_work_is_instant(record.work);
		if (!is_row)
			record.duration_ns = 0;
		break;
	case TIMELINE_WAIT:
		record.bytes = prng_below(p, record.duration_ns + 1);
		row.ns -= record.bytes;
		record.error = (uint16_t)prng_bits(p, 16);
		row.stack = random_push(p, m, record.stack.number, CLASS_WAIT, PSEUDO_WAITING);
		break;
	default:
		row.stack = record.stack.number;
		break;
	}
	record.place = places_add(&m->places, &place);
	if (is_row)
		made_add_at(m, &row, place);
	r->records[r->record_count++] = record;
	assert_int_equal(timeline_add(r->timeline, &record), 0);
}

static inline void random_begin(struct prng *p, struct random_result *r)
{
	struct made_result *m = &r->made;

	made_begin(m);
	m->frames[0].name = m->frames[0].short_name = ""; /* the frame of no stack */
	r->ledger = (struct ledger){.cpu.samples = 0};
	r->record_count = 0;
	r->timeline = timeline_new(folder, NULL);
	assert_non_null(r->timeline);
	for (uint32_t i = 0; i < RANDOM_PROCESSES; i++) {
		place_names_add_process(
			&m->place_names,
			&(struct process_info){.id = i, .pid = (pid_t)(70 + i), .name = "app"});
		place_names_add_thread(&m->place_names, &(struct thread_info){i, i, "worker"});
		assert_int_equal(
			devices_add(&m->devices,
				    &(struct device){.process = i, .id = i, .name = "H200"}),
			0);
	}
	for (uint64_t i = prng_below(p, RANDOM_RECORDS_MAX); i > 0; i--)
		random_record(p, r);
	assert_int_equal(timeline_finish(r->timeline), 0);
	m->result.places = m->places.list;
	m->result.place_count = m->places.count;
	m->result.processes = m->place_names.processes;
	m->result.process_count = m->place_names.process_count;
	m->result.threads = m->place_names.threads;
	m->result.thread_count = m->place_names.thread_count;
	devices_make_labels(&m->devices);
	m->result.devices = m->devices.list;
	m->result.device_count = m->devices.count;
	m->result.timeline = r->timeline;
	m->result.record_stack_count = m->result.stack_count;
	m->result.totals = (struct totals){.ledger = &r->ledger,
					   .command = "app --x",
					   .start_ns = RANDOM_START_NS,
					   .start_unix_ns = prng_bits(p, 60),
					   .elapsed_ns = RANDOM_RUN_NS,
					   .sample_ns = 20000000,
					   .measure = {.samples_cpu = true, .frequency_hz = 50}};
}

static inline void random_end(struct random_result *r)
{
	timeline_free(r->timeline);
	made_end(&r->made);
}

#endif
