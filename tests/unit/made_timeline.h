/* SPDX-License-Identifier: MIT */
/* A made result with a timeline, for tests of formats that need one. Uses own_folder.h. */
#ifndef TESTS_UNIT_MADE_TIMELINE_H
#define TESTS_UNIT_MADE_TIMELINE_H

#include "made_result.h"
#include "own_folder.h"
#include "profiler/formats/writer.h"

#define NOT PLACE_UNKNOWN

struct made_timeline {
	struct made_result made;
	struct timeline *timeline;
	struct ledger ledger;
};

static inline void made_timeline_begin(struct made_timeline *m)
{
	memset(m, 0, sizeof(*m));
	made_begin(&m->made);
	m->made.result.totals = (struct totals){.ledger = &m->ledger,
						.command = "app",
						.start_ns = 1000,
						.start_unix_ns = 5000000,
						.sample_ns = 20};
	m->timeline = timeline_new(folder, NULL);
	assert_non_null(m->timeline);
}

static inline void made_timeline_end(struct made_timeline *m)
{
	timeline_free(m->timeline);
	made_end(&m->made);
}

static inline struct place_id made_place(struct made_timeline *m, uint32_t process, uint32_t thread,
					 uint32_t device, uint32_t stream)
{
	uint32_t context = stream == NOT ? NOT : 1;
	struct place_id place = places_add(
		&m->made.places, &(struct place){{process, thread, device, context, stream}});

	m->made.result.places = m->made.places.list;
	m->made.result.place_count = m->made.places.count;
	return place;
}

static inline void made_record(struct made_timeline *m, struct timeline_record record)
{
	assert_int_equal(timeline_add(m->timeline, &record), 0);
}

/* Adds a kernel of this name, launched by thread 12 of process 1, pid 4711. */
static inline void made_kernel_of(struct made_timeline *m, const char *name, uint64_t graph_node)
{
	uint32_t call = MADE_STACK(&m->made, "main", "cudaLaunchKernel"), kernel;
	const struct timeline_shape shape = {
		.grid = {4, 2, 1}, .block = {128, 1, 1}, .dynamic_shared = 8, .registers = 32};

	kernel = made_push(&m->made, call, name);
	m->made.frames[m->made.stacks[kernel].frame].class = CLASS_GPU_KERNEL;
	m->made.frames[m->made.stacks[kernel].frame].short_name = "short";
	place_names_add_process(&m->made.place_names,
				&(struct process_info){.id = 1, .pid = 4711, .name = "app 4711"});
	made_record(m, (struct timeline_record){.kind = TIMELINE_LAUNCH,
						.start_ns = 2000,
						.duration_ns = 1500,
						.place = made_place(m, 1, 12, NOT, NOT),
						.stack = {call},
						.correlation = 9});
	made_record(m, (struct timeline_record){.kind = TIMELINE_GPU_OPERATION,
						.start_ns = 4001,
						.duration_ns = 2345,
						.place = made_place(m, 1, 12, 0, 7),
						.stack = {kernel},
						.shape = timeline_number_shape(m->timeline, &shape),
						.graph_node = graph_node,
						.correlation = 9});
}

/* Adds a kernel as node 4 of graph 3. */
static inline void made_kernel(struct made_timeline *m, const char *name)
{
	made_kernel_of(m, name, UINT64_C(3) << 32 | 4);
}

static inline int made_write(struct made_timeline *m, const struct writer *writer, FILE *out,
			     struct written *written)
{
	m->made.result.timeline = m->timeline;
	timeline_finish(m->timeline);
	memset(written, 0xff, sizeof(*written)); /* says nothing yet */
	return writer->write(&m->made.result, &(struct writer_options){.unit_ns = 1}, out, written);
}

#endif
