/* SPDX-License-Identifier: MIT */
/*
 * Attribution with its parts, for tests of joined operations and waits.
 *
 * * The module is built into the test. The test chooses a bound, and lets memory run out
 * (unsure.h).
 */
#ifndef TESTS_UNIT_ATTRIBUTION_BENCH_H
#define TESTS_UNIT_ATTRIBUTION_BENCH_H

#include "unit.h"
#include "unsure.h"
#include "profiler/addons/waits.h"
#include "profiler/join/attribution.h"
#include "profiler/model/pseudo_frames.h"

static const uint32_t real_bound = ATTRIBUTION_ORIGINS_MAX;
static uint32_t bound = ATTRIBUTION_ORIGINS_MAX;
#undef ATTRIBUTION_ORIGINS_MAX
#define ATTRIBUTION_ORIGINS_MAX bound

#define record_set_add unsure_record
#include "profiler/join/attribution.c"

#define ALL ((1u << PLACE_PARTS) - 1)

struct bench {
	struct processes processes;
	struct devices devices;
	struct process *process;
	struct stack_table *stacks;
	struct profile *profile;
	struct places places;
	struct ledger ledger;
	struct quota quota;
	uint32_t found; /* the launch of samples */
	struct profile_sink sink;
	struct measure measure;
	struct addons addons;
	struct attribution attribution;
	struct stack_id launch, capture, waiter; /* stacks */
};

static inline struct stack_id push_call(struct bench *b, const char *function)
{
	return stack_table_push_text(b->stacks, STACK_EMPTY, FRAME_API, function);
}

static inline const char *keep_text(void *context, const char *text)
{
	(void)context;
	return strstr(text, "wait") ? "[stall: wait]" : "[stall: other]";
}

/* Finds the launch `found`, as the join does. */
static inline int find_launch(void *context, uint32_t process, uint32_t correlation_id,
			      uint64_t remark)
{
	struct bench *b = context;

	assert_int_equal(correlation_id, 9);
	attribution_add(
		&b->attribution, ORIGIN_ID(b->found), 0,
		&(struct gpu_operation){.work = JOIN_REMARK, .remark = remark, .process = process});
	return 0;
}

static inline void begin_addons(struct bench *b)
{
	assert_int_equal(
		addons_begin(&b->addons,
			     &(struct addon_parts){.measure = &b->measure,
						   .stacks = b->stacks,
						   .gpu_stacks = &b->attribution.gpu_stacks,
						   .places = &b->places,
						   .devices = &b->devices,
						   .sink = &b->sink,
						   .time_range = &b->attribution.time_range,
						   .find_launch = find_launch,
						   .keep = keep_text,
						   .context = b}),
		0);
}

static inline void take_note(void *context, const struct profile_item *note)
{
	struct bench *b = context;

	if (note->record.kind == NOTE_SHARE)
		attribution_note(&b->attribution, note);
	else
		addons_note(&b->addons, note);
}

static inline struct bench *new_bench(uint32_t mask, bool follows_waits)
{
	struct bench *b = calloc(1, sizeof(*b));

	assert_non_null(b);
	b->quota.limit = 1 << 20;
	b->process = processes_start(&b->processes, 70, 1, true);
	b->stacks = stack_table_new();
	b->profile = profile_new();
	assert_true(b->process && b->stacks && b->profile);
	b->sink = (struct profile_sink){
		.profile = b->profile, .ledger = &b->ledger, .take_note = take_note, .context = b};
	b->process->sent.quota = &b->quota;
	assert_int_equal(places_init(&b->places, mask), 0);
	b->measure.waits = follows_waits;
	begin_addons(b);
	attribution_init(&b->attribution, &(struct attribution_parts){.processes = &b->processes,
								      .stacks = b->stacks,
								      .sink = &b->sink,
								      .places = &b->places,
								      .ledger = &b->ledger,
								      .devices = &b->devices,
								      .quota = &b->quota,
								      .addons = &b->addons});
	b->launch = push_call(b, "cudaLaunch");
	b->capture = push_call(b, "cudaCapture");
	b->waiter = push_call(b, "cudaWait");
	return b;
}

static inline void free_bench(struct bench *b)
{
	bound = real_bound;
	failing_allocation = 0;
	addons_release(&b->addons);
	attribution_release(&b->attribution);
	attribution_release(&b->attribution);
	processes_release(&b->processes);
	assert_int_equal(b->quota.used, 0);
	places_release(&b->places);
	profile_free(b->profile);
	stack_table_free(b->stacks);
	ledger_release(&b->ledger);
	devices_release(&b->devices);
	free(b);
}

static inline void finish(struct bench *b)
{
	attribution_finish(&b->attribution);
	addons_finish(&b->addons);
	addons_complete(&b->addons, 0, 0);
}

/* Returns a kernel of the process, in stream 7. */
static inline struct gpu_operation kernel(const struct bench *b, uint64_t start, uint64_t ns)
{
	return (struct gpu_operation){.work = GPU_WORK_KERNEL,
				      .start_ns = start,
				      .duration_ns = ns,
				      .name = "k",
				      .process = b->process->id,
				      .device = 2,
				      .context = 3,
				      .stream = 7};
}

/* Returns a stack's frames from the root on, as "cudaLaunch;k". */
static inline const char *text_of(const struct stack_table *t, struct stack_id stack)
{
	static char text[1024];
	char *at = text + sizeof(text) - 1;

	*at = '\0';
	for (; !same_id(stack, STACK_EMPTY); stack = stack_table_outer(t, stack)) {
		const char *name = stack_table_frame(t, stack)->text;
		size_t n = strlen(name);

		assert_true(at - text > (ptrdiff_t)n + 1);
		if (*at)
			*--at = ';';
		at -= n;
		memcpy(at, name, n);
	}
	return at;
}

/* Returns the only row with this stack, or NULL if there is none. */
static inline const struct profile_row *row_of(const struct bench *b, enum row_kind kind,
					       const char *stack)
{
	const struct profile_row *found = NULL;
	uint32_t count;
	const struct profile_row *rows = profile_rows(b->profile, &count);

	for (uint32_t i = 0; i < count; i++) {
		if ((!rows[i].count && !rows[i].ns) || rows[i].kind != kind ||
		    strcmp(text_of(b->stacks, rows[i].stack), stack) != 0)
			continue;
		assert_null(found);
		found = &rows[i];
	}
	return found;
}

#define expect_row(b, kind, stack, count_, ns_)                          \
	do {                                                             \
		const struct profile_row *row_ = row_of(b, kind, stack); \
                                                                         \
		assert_non_null(row_);                                   \
		assert_int_equal(row_->count, count_);                   \
		assert_int_equal(row_->ns, ns_);                         \
	} while (0)

static inline void expect_place(const struct bench *b, const struct profile_row *row,
				uint32_t process, uint32_t thread, uint32_t device,
				uint32_t context, uint32_t stream)
{
	const struct place place = {{process, thread, device, context, stream}};

	assert_memory_equal(&b->places.list[row->place.number], &place, sizeof(place));
}

/* Returns the run's row of device 2 for `work`, or NULL if there is none. */
static inline const struct gpu_row *total_of(const struct bench *b, uint32_t work)
{
	static struct gpu_row sum;
	const struct ledger_gpu *gpu = &b->ledger.gpu;
	const struct gpu_row *found = NULL;

	sum = (struct gpu_row){.work = work};
	for (uint32_t i = 0; i < gpu->row_count; i++) {
		if (devices_of_key(&b->devices, gpu->rows[i].device)->id != 2 ||
		    gpu->rows[i].work != work)
			continue;
		gpu_row_add(&sum, &gpu->rows[i]);
		found = &sum;
	}
	return found;
}

/* Returns the process's sum for a stream of device 2, context 3, or NULL if there is none. */
static inline const struct work_sum *sum_of(const struct bench *b, uint32_t stream, uint32_t work)
{
	const struct work_key key = {2, 3, stream, work};

	return work_tally_find(&b->process->counted, &key);
}

/* Adds a wait of one of the process's threads, for its stream or for the whole device. */
static inline void wait_for(struct bench *b, struct stack_id stack, uint64_t start, uint64_t ns,
			    bool has_stream, uint32_t stream)
{
	const struct gpu_event_wait e = {.start_ns = start,
					 .duration_ns = ns,
					 .tid = 44,
					 .has_stream = has_stream,
					 .context_id = 3,
					 .stream_id = stream};

	addons_wait(&b->addons, b->process->id, stack, &e);
}

#endif
