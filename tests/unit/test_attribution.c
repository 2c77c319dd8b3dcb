/* SPDX-License-Identifier: MIT */
/*
 * Operations and waits that have been joined: their rows, their process's books, and that nothing
 * is lost on the way. The module is built into this test, with a bound that the tests choose, and
 * memory that can run out.
 */
#include "unit.h"
#include "unsure.h"
#include "profiler/addons/waits.h"
#include "profiler/join/attribution.h"
#include "profiler/model/pseudo_frames.h"

static const uint32_t real_bound = ATTRIBUTION_ORIGINS_MAX;
static uint32_t bound = ATTRIBUTION_ORIGINS_MAX;
#undef ATTRIBUTION_ORIGINS_MAX
#define ATTRIBUTION_ORIGINS_MAX bound

#define array_make_room unsure_make_room
#define hash_index_add unsure_add
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

static struct stack_id push_call(struct bench *b, const char *function)
{
	return stack_table_push_text(b->stacks, STACK_EMPTY, FRAME_API, function);
}

static const char *keep_text(void *context, const char *text)
{
	(void)context;
	return strstr(text, "wait") ? "[stall: wait]" : "[stall: other]";
}

static int find_launch(void *context, uint32_t process, uint32_t correlation_id, uint64_t remark);

static void begin_addons(struct bench *b)
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

static void take_note(void *context, const struct profile_item *note)
{
	struct bench *b = context;

	if (note->record.kind == NOTE_SHARE)
		attribution_note(&b->attribution, note);
	else
		addons_note(&b->addons, note);
}

static struct bench *new_bench(uint32_t mask, bool follows_waits)
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

static void free_bench(struct bench *b)
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

static void finish(struct bench *b)
{
	attribution_finish(&b->attribution);
	addons_finish(&b->addons);
	addons_complete(&b->addons, 0, 0);
}

/* A kernel of the process, in stream 7. */
static struct gpu_operation kernel(const struct bench *b, uint64_t start, uint64_t ns)
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

/* "cudaLaunch;k": a stack's frames, from the root on. */
static const char *text_of(const struct stack_table *t, struct stack_id stack)
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

/* The only row with this stack; NULL: there is none. */
static const struct profile_row *row_of(const struct bench *b, enum row_kind kind,
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

static void expect_place(const struct bench *b, const struct profile_row *row, uint32_t process,
			 uint32_t thread, uint32_t device, uint32_t context, uint32_t stream)
{
	const struct place place = {{process, thread, device, context, stream}};

	assert_memory_equal(&b->places.list[row->place.number], &place, sizeof(place));
}

/* What the run holds of its device 2; NULL: nothing. */
static const struct gpu_row *total_of(const struct bench *b, uint32_t work)
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

/* What is in the process's books under a stream of its device 2 and context 3. */
static const struct work_sum *sum_of(const struct bench *b, uint32_t stream, uint32_t work)
{
	const struct work_key key = {2, 3, stream, work};

	return work_tally_find(&b->process->counted, &key);
}

/* ---- operations ---- */

static void an_operation_has_its_row_and_its_sum(void **state)
{
	struct bench *b = new_bench(0, false);
	struct gpu_operation o = kernel(b, 100, 10);

	(void)state;
	attribution_add(&b->attribution, ORIGIN_ID(b->launch.number), 90, &o);
	o.duration_ns = 5;
	o.bytes = 64;
	attribution_add(&b->attribution, ORIGIN_ID(b->launch.number), 90, &o);
	o.duration_ns = 3;
	attribution_add(&b->attribution, origin_of_mark(LAUNCH_UNKNOWN), 0, &o);
	expect_row(b, ROW_GPU, "cudaLaunch;k", 2, 15);
	assert_int_equal(row_of(b, ROW_GPU, "cudaLaunch;k")->bytes, 64);
	assert_int_equal(row_of(b, ROW_GPU, "cudaLaunch;k")->place.number, PLACE_NOWHERE.number);
	expect_row(b, ROW_GPU, "[launch not captured];k", 1, 3);
	assert_int_equal(b->process->counted.count, 1);
	assert_int_equal(sum_of(b, 7, GPU_WORK_KERNEL)->count, 3);
	assert_int_equal(sum_of(b, 7, GPU_WORK_KERNEL)->ns, 18);
	assert_int_equal(sum_of(b, 7, GPU_WORK_KERNEL)->bytes, 128);
	assert_int_equal(total_of(b, GPU_WORK_KERNEL)->count, 3);
	assert_int_equal(total_of(b, GPU_WORK_KERNEL)->ns, 18);
	assert_int_equal(total_of(b, GPU_WORK_KERNEL)->bytes, 128);
	assert_int_equal(total_of(b, GPU_WORK_KERNEL)->unmatched, 1);
	assert_int_equal(total_of(b, GPU_WORK_KERNEL)->unmatched_ns, 3);
	free_bench(b);
}

/* What begins in the window is in the profile as a whole; everything is in the process's books. */
static void a_time_range_has_what_begins_in_it(void **state)
{
	static const struct {
		uint64_t start, ns;
	} work[] = {{99, 1000}, {100, 50}, {199, 1000}, {200, 7}, {1000, 9}};
	struct bench *b = new_bench(0, false);
	struct gpu_operation o;

	(void)state;
	b->attribution.time_range = (struct time_range){100, 200};
	for (size_t i = 0; i < sizeof(work) / sizeof(work[0]); i++) {
		o = kernel(b, work[i].start, work[i].ns);
		attribution_add(&b->attribution, ORIGIN_ID(b->launch.number), 90, &o);
	}
	expect_row(b, ROW_GPU, "cudaLaunch;k", 2, 1050);
	assert_int_equal(total_of(b, GPU_WORK_KERNEL)->count, 2);
	assert_int_equal(b->ledger.gpu.matched, 2);
	assert_int_equal(sum_of(b, 7, GPU_WORK_KERNEL)->count, 5);
	assert_int_equal(sum_of(b, 7, GPU_WORK_KERNEL)->ns, 2066);
	assert_int_equal(b->ledger.outside.before, 1);
	assert_int_equal(b->ledger.outside.before_ns, 1000);
	assert_int_equal(b->ledger.outside.after, 2);
	assert_int_equal(b->ledger.outside.after_ns, 16);
	/* of which nothing is known: it may be of this time */
	o = kernel(b, 0, 0);
	o.bad_time = true;
	attribution_add(&b->attribution, ORIGIN_ID(b->launch.number), 90, &o);
	assert_int_equal(total_of(b, GPU_WORK_KERNEL)->count, 3);
	assert_int_equal(b->ledger.gpu.bad_times, 1);
	free_bench(b);
}

/* Launches are recorded from shortly before the window on: earlier ones are not lost. */
static void work_may_have_been_launched_before_recording(void **state)
{
	struct bench *b = new_bench(0, false);
	struct gpu_operation o = kernel(b, 150, 10);

	(void)state;
	b->attribution.time_range = (struct time_range){100, 0};
	o.correlation_id = 6;
	attribution_add(&b->attribution, origin_of_mark(LAUNCH_UNKNOWN), 0, &o);
	b->process->first_launch = 7;
	attribution_add(&b->attribution, origin_of_mark(LAUNCH_UNKNOWN), 0, &o);
	expect_row(b, ROW_GPU, "[launched before recording];k", 2, 20);
	assert_int_equal(b->ledger.outside.earlier, 2);
	assert_int_equal(b->ledger.outside.earlier_ns, 20);
	assert_int_equal(b->ledger.gpu.unmatched, 0);
	o.correlation_id = 7;
	attribution_add(&b->attribution, origin_of_mark(LAUNCH_UNKNOWN), 0, &o);
	expect_row(b, ROW_GPU, "[launch not captured];k", 1, 10);
	assert_int_equal(b->ledger.gpu.unmatched, 1);
	/* from the start on all are recorded */
	b->attribution.time_range = (struct time_range){0, 1000};
	o.correlation_id = 6;
	attribution_add(&b->attribution, origin_of_mark(LAUNCH_UNKNOWN), 0, &o);
	assert_int_equal(b->ledger.gpu.unmatched, 2);
	free_bench(b);
}

static void operation_flags_are_counted(void **state)
{
	struct bench *b = new_bench(0, false);
	struct gpu_operation o = kernel(b, 100, 10);
	const struct gpu_row *total;

	(void)state;
	o.outside = GPU_BEFORE_TRACING;
	attribution_add(&b->attribution, ORIGIN_ID(b->launch.number), 90, &o);
	o.outside = GPU_AFTER_TRACING;
	o.duration_ns = 20;
	attribution_add(&b->attribution, ORIGIN_ID(b->launch.number), 90, &o);
	o.outside = GPU_IN_TIME;
	o.staged = true;
	attribution_add(&b->attribution, ORIGIN_ID(b->launch.number), 90, &o);
	o.staged = false;
	o.bad_time = true;
	o.duration_ns = 0;
	attribution_add(&b->attribution, ORIGIN_ID(b->launch.number), 90, &o);
	assert_int_equal(sum_of(b, 7, GPU_WORK_KERNEL)->count, 4);
	total = total_of(b, GPU_WORK_KERNEL);
	assert_int_equal(total->count, 4);
	assert_int_equal(total->ns, 50);
	assert_int_equal(total->before, 1);
	assert_int_equal(total->before_ns, 10);
	assert_int_equal(total->after, 1);
	assert_int_equal(total->after_ns, 20);
	assert_int_equal(total->staged, 1);
	assert_int_equal(total->bad_times, 1);
	assert_int_equal(total->unmatched, 0);
	expect_row(b, ROW_GPU, "cudaLaunch;k", 4, 50);
	free_bench(b);
}

/* It has no time, so it is in the books alone. */
static void an_instant_has_no_row(void **state)
{
	struct bench *b = new_bench(0, false);
	struct gpu_operation o = kernel(b, 100, 0);
	uint32_t count;
	const struct profile_row *rows;

	(void)state;
	o.work = GPU_WORK_ALLOC;
	o.bytes = 4096;
	o.graph_node = 5; /* nor is it looked for where it was made */
	attribution_add(&b->attribution, ORIGIN_ID(b->launch.number), 90, &o);
	assert_int_equal(sum_of(b, 7, GPU_WORK_ALLOC)->count, 1);
	assert_int_equal(sum_of(b, 7, GPU_WORK_ALLOC)->bytes, 4096);
	rows = profile_rows(b->profile, &count);
	while (count-- > 0)
		assert_int_equal(rows[count].count, 0);
	assert_int_equal(b->ledger.gpu.unseen_nodes, 0);
	free_bench(b);
}

static void work_without_a_launch_is_at_the_root(void **state)
{
	struct bench *b = new_bench(ALL, false);
	struct gpu_operation o = kernel(b, 100, 10);

	(void)state;
	o.work = GPU_WORK_UVM_HTOD;
	attribution_add(&b->attribution, origin_of_mark(LAUNCH_NONE_NEEDED), 0, &o);
	expect_row(b, ROW_GPU, "[GPU_UVM HtoD]", 1, 10);
	expect_place(b, row_of(b, ROW_GPU, "[GPU_UVM HtoD]"), b->process->id, PLACE_UNKNOWN, 2, 3,
		     7);
	assert_int_equal(total_of(b, GPU_WORK_UVM_HTOD)->unmatched, 0);
	free_bench(b);
}

/*
 * An ended process, or one whose tallies are full: the run's totals include the work all the same.
 */
static void work_outside_of_books_counts_too(void **state)
{
	struct bench *b = new_bench(0, false);
	struct gpu_operation o = kernel(b, 100, 10);

	(void)state;
	o.process = 999;
	attribution_add(&b->attribution, ORIGIN_ID(b->launch.number), 90, &o);
	b->quota.limit = 0;
	o = kernel(b, 100, 7);
	attribution_add(&b->attribution, origin_of_mark(LAUNCH_UNKNOWN), 90, &o);
	assert_int_equal(b->process->counted.count, 0);
	assert_true(b->process->counted.overflowed);
	assert_int_equal(b->quota.refused, 1);
	expect_row(b, ROW_GPU, "cudaLaunch;k", 1, 10);
	expect_row(b, ROW_GPU, "[launch not captured];k", 1, 7);
	assert_int_equal(total_of(b, GPU_WORK_KERNEL)->count, 2);
	assert_int_equal(total_of(b, GPU_WORK_KERNEL)->ns, 17);
	assert_int_equal(b->ledger.gpu.matched, 1);
	assert_int_equal(b->ledger.gpu.unmatched, 1);
	assert_int_equal(b->ledger.gpu.unmatched_ns, 7);
	free_bench(b);
}

/* While its books are being closed they are still open, though the table has it no more. */
static void a_settled_process_is_compared(void **state)
{
	struct bench *b = new_bench(0, false);
	struct gpu_operation o = kernel(b, 100, 10);
	struct process *process = b->process;

	(void)state;
	processes_end(&b->processes, process, 5);
	assert_ptr_equal(processes_take_expired(&b->processes, 5 + PROCESSES_LINGER_NS), process);
	b->attribution.ending = process;
	attribution_add(&b->attribution, origin_of_mark(LAUNCH_UNKNOWN), 0, &o);
	assert_int_equal(sum_of(b, 7, GPU_WORK_KERNEL)->count, 1);
	o.process = 999; /* not another one's */
	attribution_add(&b->attribution, origin_of_mark(LAUNCH_UNKNOWN), 0, &o);
	assert_int_equal(sum_of(b, 7, GPU_WORK_KERNEL)->count, 1);
	assert_int_equal(total_of(b, GPU_WORK_KERNEL)->count, 2);
	process_free(process);
	free_bench(b);
}

/* ---- where nodes were made ---- */

static void a_node_is_that_of_its_launch(void **state)
{
	struct bench *b = new_bench(0, false);
	struct graph_nodes *nodes = &b->attribution.graph_nodes;
	uint32_t process = b->process->id, later = push_call(b, "cudaLater").number;
	struct gpu_operation o = kernel(b, 250, 1);

	(void)state;
	assert_int_equal(
		graph_nodes_made(nodes, process, 1, 5, 100, CAPTURE_STACK(b->capture.number)), 0);
	assert_int_equal(graph_nodes_made(nodes, process, 1, 5, 200, CAPTURE_STACK(later)), 0);
	o.graph_node = 5;
	/* it ran when another graph had the number, but was launched before */
	attribution_add(&b->attribution, ORIGIN_ID(b->launch.number), 150, &o);
	expect_row(b, ROW_GPU, "cudaLaunch;[graph node captured at];cudaCapture;k", 1, 1);
	attribution_add(&b->attribution, ORIGIN_ID(b->launch.number), 210, &o);
	expect_row(b, ROW_GPU, "cudaLaunch;[graph node captured at];cudaLater;k", 1, 1);
	/*
	 * without a launch the operation's own time selects the graph, and without that the latest
	 * counts
	 */
	attribution_add(&b->attribution, origin_of_mark(LAUNCH_UNKNOWN), 0, &o);
	o.start_ns = 0;
	o.bad_time = true;
	attribution_add(&b->attribution, origin_of_mark(LAUNCH_UNKNOWN), 0, &o);
	expect_row(b, ROW_GPU, "[launch not captured];[graph node captured at];cudaLater;k", 2, 2);
	o.start_ns = 150;
	attribution_add(&b->attribution, origin_of_mark(LAUNCH_UNKNOWN), 0, &o);
	expect_row(b, ROW_GPU, "[launch not captured];[graph node captured at];cudaCapture;k", 1,
		   1);
	assert_int_equal(b->ledger.gpu.unseen_nodes, 0);
	free_bench(b);
}

static void a_node_that_was_not_seen_is_counted(void **state)
{
	struct bench *b = new_bench(0, false);
	struct gpu_operation o = kernel(b, 250, 1);

	(void)state;
	assert_int_equal(graph_nodes_made(&b->attribution.graph_nodes, b->process->id, 1, 5, 100,
					  captured_at(b->capture)),
			 0);
	o.graph_node = 6;
	attribution_add(&b->attribution, ORIGIN_ID(b->launch.number), 150, &o);
	o.graph_node = 5;
	o.process = 999; /* another one's has the same number */
	attribution_add(&b->attribution, ORIGIN_ID(b->launch.number), 150, &o);
	expect_row(b, ROW_GPU, "cudaLaunch;[graph node, capture not seen];k", 2, 2);
	assert_int_equal(b->ledger.gpu.unseen_nodes, 2);
	free_bench(b);
}

/* ---- places ---- */

static void places_have_the_requested_parts(void **state)
{
	(void)state;
	for (uint32_t mask = 0; mask <= ALL; mask++) {
		struct bench *b = new_bench(mask, false);
		struct gpu_operation o = kernel(b, 100, 10);
		const uint32_t parts[] = {b->process->id, 55, 2, 3, 7};
		struct place place = place_unknown();
		uint32_t origin =
			attribution_origin(&b->attribution, launched_at(b->launch), 55).number;

		attribution_add(&b->attribution, ORIGIN_ID(origin), 90, &o);
		for (uint32_t i = 0; i < PLACE_PARTS; i++)
			if (mask & 1u << i)
				place.part[i] = parts[i];
		assert_memory_equal(
			&b->places.list[row_of(b, ROW_GPU, "cudaLaunch;k")->place.number], &place,
			sizeof(place));
		free_bench(b);
	}
}

/* The launch's thread is the operation's. */
static void threads_are_distinguished_by_launch(void **state)
{
	struct bench *b = new_bench(1u << PLACE_THREAD, false);
	struct attribution *a = &b->attribution;
	uint32_t one = attribution_origin(a, launched_at(b->launch), 1).number,
		 two = attribution_origin(a, launched_at(b->launch), 2).number;
	uint32_t other = attribution_origin(a, launched_at(b->capture), 1).number, count;
	struct gpu_operation o = kernel(b, 100, 10);
	const struct profile_row *rows = NULL;

	(void)state;
	assert_true(one != two && one != other && two != other);
	assert_int_equal(attribution_origin(a, launched_at(b->launch), 1).number, one);
	assert_same_number(attribution_origin(a, LAUNCH_UNKNOWN, 1), LAUNCH_UNKNOWN);
	attribution_add(a, ORIGIN_ID(one), 90, &o);
	attribution_add(a, ORIGIN_ID(two), 90, &o);
	attribution_add(a, ORIGIN_ID(two), 90, &o);
	attribution_add(a, origin_of_mark(LAUNCH_UNKNOWN), 90, &o);
	attribution_add(a, ORIGIN_ID(other), 90, &o);
	expect_row(b, ROW_GPU, "cudaCapture;k", 1, 10);
	expect_place(b, row_of(b, ROW_GPU, "cudaCapture;k"), PLACE_UNKNOWN, 1, PLACE_UNKNOWN,
		     PLACE_UNKNOWN, PLACE_UNKNOWN);
	expect_place(b, row_of(b, ROW_GPU, "[launch not captured];k"), PLACE_UNKNOWN, PLACE_UNKNOWN,
		     PLACE_UNKNOWN, PLACE_UNKNOWN, PLACE_UNKNOWN);
	rows = profile_rows(b->profile, &count);
	for (uint32_t i = 0; i < count; i++) {
		if (!rows[i].count || strcmp(text_of(b->stacks, rows[i].stack), "cudaLaunch;k"))
			continue;
		assert_int_equal(rows[i].count,
				 b->places.list[rows[i].place.number].part[PLACE_THREAD]);
	}
	free_bench(b);
}

static void without_threads_an_origin_is_a_stack(void **state)
{
	struct bench *b = new_bench(ALL & ~(1u << PLACE_THREAD), false);

	(void)state;
	for (uint32_t tid = 0; tid < 100; tid++)
		assert_same_number(attribution_origin(&b->attribution, launched_at(b->launch), tid),
				   b->launch);
	assert_same_number(attribution_origin(&b->attribution, LAUNCH_UNKNOWN, 5), LAUNCH_UNKNOWN);
	assert_int_equal(b->attribution.origins.count, 0);
	free_bench(b);
}

/*
 * A process may name any threads: beyond the bound they are not distinguished, and lose no stack.
 */
static void threads_without_number_take_no_memory(void **state)
{
	struct bench *b;
	struct gpu_operation o;

	(void)state;
	assert_int_equal(real_bound, 1u << 20);
	bound = 100;
	b = new_bench(1u << PLACE_THREAD, false);
	o = kernel(b, 100, 1);
	for (uint32_t tid = 0; tid < 10000; tid++)
		attribution_add(&b->attribution,
				attribution_origin(&b->attribution, launched_at(b->launch), tid),
				90, &o);
	attribution_add(&b->attribution,
			attribution_origin(&b->attribution, launched_at(b->capture), 1), 90, &o);
	assert_int_equal(b->attribution.origins.count, 102);
	expect_row(b, ROW_GPU, "cudaCapture;k", 1, 1);
	expect_place(b, row_of(b, ROW_GPU, "cudaCapture;k"), PLACE_UNKNOWN, PLACE_UNKNOWN,
		     PLACE_UNKNOWN, PLACE_UNKNOWN, PLACE_UNKNOWN);
	assert_null(row_of(b, ROW_GPU, "[launch not captured];k"));
	assert_int_equal(total_of(b, GPU_WORK_KERNEL)->unmatched, 0);
	free_bench(b);
}

/* ---- waits ---- */

static void wait_for(struct bench *b, struct stack_id stack, uint64_t start, uint64_t ns,
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

static void a_wait_is_split_by_operation(void **state)
{
	struct bench *b = new_bench(ALL, true);
	struct gpu_operation o = kernel(b, 1000, 60);
	struct ledger_calls *calls = &b->ledger.calls;

	(void)state;
	wait_for(b, b->waiter, 1000, 100, false, 0);
	attribution_add(&b->attribution, ORIGIN_ID(b->launch.number), 900, &o);
	wait_for(b, b->waiter, 1010, 60, true, 8); /* for another stream */
	addons_advance(&b->addons, 1100);
	assert_null(row_of(b, ROW_WAIT, "cudaWait;[waiting for GPU]"));
	addons_advance(&b->addons, 1100 + WAITS_TIMEOUT_NS);
	expect_row(b, ROW_WAIT, "cudaWait;[waiting for GPU];k;launched at;cudaLaunch", 1, 60);
	expect_row(b, ROW_WAIT, "cudaWait;[waiting for GPU]", 2, 100);
	/* of the thread that waited, wherever that ran */
	expect_place(b, row_of(b, ROW_WAIT, "cudaWait;[waiting for GPU]"), b->process->id, 44,
		     PLACE_UNKNOWN, PLACE_UNKNOWN, PLACE_UNKNOWN);
	expect_row(b, ROW_GPU, "cudaLaunch;k", 1, 60);
	assert_int_equal(calls->waits, 2);
	assert_int_equal(calls->wait_ns, 160);
	finish(b);
	assert_int_equal(calls->cut_waits, 0);
	free_bench(b);
}

/* Nor do invalid times count as waited-for work. */
static void at_the_end_all_waits_are_decided(void **state)
{
	struct bench *b = new_bench(0, true);
	struct gpu_operation o = kernel(b, 1000, 60);

	(void)state;
	wait_for(b, b->waiter, 1000, 100, true, 7);
	o.bad_time = true;
	attribution_add(&b->attribution, ORIGIN_ID(b->launch.number), 900, &o);
	o.bad_time = false;
	o.process = 999;
	attribution_add(&b->attribution, ORIGIN_ID(b->launch.number), 900, &o);
	finish(b);
	expect_row(b, ROW_WAIT, "cudaWait;[waiting for GPU]", 1, 100);
	free_bench(b);
}

static void waits_not_requested(void **state)
{
	struct bench *b = new_bench(0, false);
	struct gpu_operation o = kernel(b, 1000, 60);

	(void)state;
	wait_for(b, b->waiter, 1000, 100, false, 0);
	attribution_add(&b->attribution, ORIGIN_ID(b->launch.number), 900, &o);
	addons_advance(&b->addons, UINT64_C(1) << 40);
	finish(b);
	assert_null(row_of(b, ROW_WAIT, "cudaWait;[waiting for GPU]"));
	expect_row(b, ROW_GPU, "cudaLaunch;k", 1, 60);
	assert_int_equal(b->ledger.calls.waits, 0);
	assert_int_equal(b->ledger.calls.wait_ns, 0);
	free_bench(b);
}

/* A kernel's time has that of the faults in it: no operation, but a part of the kernel's. */
static void page_faults_are_stalls_of_kernels(void **state)
{
	(void)state;
	for (int with_waits = 0; with_waits <= 1; with_waits++) {
		struct bench *b = new_bench(ALL, with_waits);
		struct gpu_operation o = kernel(b, 1000, 60), faults = o;

		faults.work = GPU_WORK_UVM_GPU_FAULTS;
		faults.name = NULL;
		faults.start_ns = 1050;
		faults.duration_ns = 30;
		faults.bytes = 17;
		attribution_add(&b->attribution, origin_of_mark(LAUNCH_NONE_NEEDED), 0, &faults);
		attribution_add(&b->attribution, ORIGIN_ID(b->launch.number), 900, &o);
		faults.bad_time = true;
		faults.duration_ns = 0;
		attribution_add(&b->attribution, origin_of_mark(LAUNCH_NONE_NEEDED), 0, &faults);
		finish(b);
		expect_row(b, ROW_GPU, "cudaLaunch;k", 1, 60);
		assert_null(row_of(b, ROW_GPU, "[GPU_UVM page faults]"));
		assert_int_equal(total_of(b, GPU_WORK_UVM_GPU_FAULTS)->ns, 30);
		assert_int_equal(total_of(b, GPU_WORK_UVM_GPU_FAULTS)->bytes, 34);
		assert_int_equal(b->ledger.calls.waits, 0);
		if (with_waits) {
			expect_row(b, ROW_WAIT, "cudaLaunch;k;[waiting for pages]", 1, 10);
			expect_row(b, ROW_WAIT, "[waiting for pages]", 1, 20);
			expect_place(b, row_of(b, ROW_WAIT, "[waiting for pages]"), b->process->id,
				     PLACE_UNKNOWN, o.device, PLACE_UNKNOWN, PLACE_UNKNOWN);
		} else {
			assert_null(row_of(b, ROW_WAIT, "cudaLaunch;k;[waiting for pages]"));
		}
		free_bench(b);
	}
}

/* ---- all of it ---- */

struct totals_seen {
	uint64_t spans, span_ns, operations, ns, bytes, waits, wait_ns, stall_ns, matched;
	uint64_t own, own_ns; /* of the process that is there */
};

/* As the join does: the launch is `found`. */
static int find_launch(void *context, uint32_t process, uint32_t correlation_id, uint64_t remark)
{
	struct bench *b = context;

	assert_int_equal(correlation_id, 9);
	attribution_add(
		&b->attribution, ORIGIN_ID(b->found), 0,
		&(struct gpu_operation){.work = JOIN_REMARK, .remark = remark, .process = process});
	return 0;
}

static void give_samples(struct bench *b, uint32_t launch, uint32_t reason, uint64_t samples)
{
	const struct gpu_pc_count count = {0, reason, samples};
	const struct gpu_event event = {.type = GPU_EVENT_PCS,
					.pcs = {.correlation_id = 9, .count = 1, .counts = &count}};

	b->found = launch;
	assert_int_equal(addons_event(&b->addons, b->process->id, &event, "k"), 0);
}

static void give_reason(struct bench *b, uint32_t id, const char *name)
{
	const struct gpu_event event = {.type = GPU_EVENT_STALL, .stall = {id, name}};

	assert_int_equal(addons_event(&b->addons, b->process->id, &event, NULL), 0);
}

/* Samples of a launch split its kernel's time; those of none, and of graphs, are the mean's. */
static void samples_are_of_their_launch(void **state)
{
	struct bench *b = new_bench(ALL, false);
	struct gpu_operation o = kernel(b, 100, 1000);

	(void)state;
	addons_release(&b->addons);
	b->measure.stall_period = 14;
	b->measure.exact_stalls = true;
	begin_addons(b);
	give_reason(b, 1, "wait");
	give_reason(b, 2, "else");
	attribution_add(&b->attribution, ORIGIN_ID(b->launch.number), 0, &o);
	attribution_add(&b->attribution, ORIGIN_ID(b->capture.number), 0, &o);
	attribution_add(&b->attribution, ORIGIN_ID(b->waiter.number), 0, &o);
	give_samples(b, b->launch.number, 1, 3);
	give_samples(b, b->capture.number, 2, 1);
	give_samples(b, LAUNCH_UNKNOWN.number, 2, 4);
	finish(b);
	expect_row(b, ROW_GPU, "cudaLaunch;k;[stall: wait]", 0, 1000);
	expect_row(b, ROW_GPU, "cudaCapture;k;[stall: other]", 0, 1000);
	expect_row(b, ROW_GPU, "cudaWait;k;[stall: wait]", 0, 375);
	expect_row(b, ROW_GPU, "cudaWait;k;[stall: other]", 0, 625);
	assert_int_equal(b->ledger.stalls.samples, 8);
	assert_int_equal(b->ledger.stalls.placed, 4);
	assert_int_equal(b->ledger.stalls.split_ns, 3000);
	assert_int_equal(b->ledger.stalls.mean_ns, 1000);
	assert_int_equal(total_of(b, GPU_WORK_KERNEL)->count, 3);
	free_bench(b);
}

static void random_operation(struct prng *r, struct bench *b, struct totals_seen *seen)
{
	struct gpu_operation o = {.work = (uint32_t)prng_below(r, GPU_WORKS),
				  .start_ns = prng_bits(r, 20),
				  .duration_ns = prng_bits(r, 16),
				  .bytes = prng_bits(r, 30),
				  .process = (uint32_t)prng_below(r, 4),
				  .device = (uint32_t)prng_below(r, 3),
				  .stream = (uint32_t)prng_bits(r, 6),
				  .graph_node = prng_chance(r, 20) ? prng_bits(r, 34) : 0,
				  .bad_time = prng_chance(r, 3),
				  .outside = (uint8_t)prng_below(r, GPU_OUTSIDES)};
	const uint32_t stacks[] = {b->launch.number, b->capture.number, STACK_EMPTY.number,
				   LAUNCH_UNKNOWN.number};
	uint32_t stack = stacks[prng_below(r, 4)];
	uint32_t origin =
		attribution_origin(&b->attribution, LAUNCH_STACK(stack), (uint32_t)prng_bits(r, 8))
			.number;
	bool is_instant = gpu_work_is_instant(o.work);

	if (o.work == GPU_WORK_KERNEL)
		o.name = "k";
	if (is_instant || o.bad_time)
		o.duration_ns = 0;
	if (gpu_work_has_no_launch(o.work))
		origin = LAUNCH_NONE_NEEDED.number;
	else if (!is_instant)
		seen->matched += origin != LAUNCH_UNKNOWN.number;
	attribution_add(&b->attribution, ORIGIN_ID(origin), prng_bits(r, 20), &o);
	seen->operations++;
	seen->ns += o.duration_ns;
	seen->bytes += o.bytes;
	seen->spans += !is_instant && !gpu_work_is_stall(o.work);
	seen->stall_ns += gpu_work_is_stall(o.work) ? o.duration_ns : 0;
	if (o.process == b->process->id) {
		seen->own++;
		seen->own_ns += o.duration_ns;
	}
}

static void random_wait(struct prng *r, struct bench *b, struct totals_seen *seen)
{
	uint64_t ns = prng_bits(r, 16);

	wait_for(b, b->waiter, prng_bits(r, 20), ns, prng_chance(r, 50), (uint32_t)prng_bits(r, 6));
	seen->waits++;
	seen->wait_ns += ns;
}

static void check(struct prng *r, struct bench *b, const struct totals_seen *seen)
{
	const struct ledger_gpu *gpu = &b->ledger.gpu;
	struct totals_seen got = {0};
	uint32_t count, at = 0;
	const struct profile_row *rows = profile_rows(b->profile, &count);
	const struct work_sum *sum;

	for (uint32_t i = 0; i < count; i++) {
		if (rows[i].kind == ROW_GPU) {
			got.spans += rows[i].count;
			got.span_ns += rows[i].ns;
		} else {
			got.wait_ns += rows[i].ns;
		}
	}
	for (uint32_t i = 0; i < gpu->row_count; i++) {
		got.operations += gpu->rows[i].count;
		got.ns += gpu->rows[i].ns;
		got.bytes += gpu->rows[i].bytes;
	}
	EXPECT(r, got.spans == seen->spans && got.span_ns == seen->ns - seen->stall_ns);
	EXPECT(r, got.operations == seen->operations && got.ns == seen->ns);
	EXPECT(r, got.bytes == seen->bytes);
	EXPECT(r, got.wait_ns == seen->wait_ns + seen->stall_ns);
	EXPECT(r, b->ledger.calls.wait_ns == seen->wait_ns);
	EXPECT(r, b->ledger.calls.waits == seen->waits);
	EXPECT(r, gpu->matched == seen->matched);
	got.operations = got.ns = 0;
	while ((sum = work_tally_next(&b->process->counted, &at))) {
		got.operations += sum->count;
		got.ns += sum->ns;
	}
	/* its tallies have all of its own work, except where there was no room */
	EXPECT(r, b->process->counted.overflowed ||
			  (got.operations == seen->own && got.ns == seen->own_ns));
	EXPECT(r, got.operations <= seen->own && got.ns <= seen->own_ns);
}

/* Any order, any bound, any failure of memory: all time is in the profile and in the totals. */
static void random_work(struct prng *r)
{
	struct totals_seen seen = {0};
	uint64_t events = prng_bits(r, 11), now = 0;
	struct bench *b;

	bound = prng_chance(r, 50) ? (uint32_t)prng_bits(r, 7) : real_bound;
	b = new_bench((uint32_t)prng_below(r, ALL + 1), true);
	if (prng_chance(r, 50))
		b->quota.limit = prng_bits(r, 14);
	for (uint64_t i = 0; i < events; i++) {
		if (prng_chance(r, 2))
			failing_allocation = 1 + (uint32_t)prng_bits(r, 2);
		if (prng_chance(r, 80))
			random_operation(r, b, &seen);
		else
			random_wait(r, b, &seen);
		if (prng_chance(r, 2))
			addons_advance(&b->addons, now += prng_bits(r, 31));
	}
	failing_allocation = 0;
	finish(b);
	check(r, b, &seen);
	free_bench(b);
}

static void nothing_is_lost_or_counted_twice(void **state)
{
	uint64_t rounds = unit_number("UNIT_ROUNDS", getenv("UNDER_VALGRIND") ? 10 : 300);

	(void)state;
	for (uint64_t round = 0; round < rounds; round++) {
		struct prng r = prng_round(round);

		random_work(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_operation_has_its_row_and_its_sum),
		cmocka_unit_test(a_time_range_has_what_begins_in_it),
		cmocka_unit_test(work_may_have_been_launched_before_recording),
		cmocka_unit_test(operation_flags_are_counted),
		cmocka_unit_test(an_instant_has_no_row),
		cmocka_unit_test(work_without_a_launch_is_at_the_root),
		cmocka_unit_test(work_outside_of_books_counts_too),
		cmocka_unit_test(a_settled_process_is_compared),
		cmocka_unit_test(a_node_is_that_of_its_launch),
		cmocka_unit_test(a_node_that_was_not_seen_is_counted),
		cmocka_unit_test(places_have_the_requested_parts),
		cmocka_unit_test(threads_are_distinguished_by_launch),
		cmocka_unit_test(without_threads_an_origin_is_a_stack),
		cmocka_unit_test(threads_without_number_take_no_memory),
		cmocka_unit_test(a_wait_is_split_by_operation),
		cmocka_unit_test(at_the_end_all_waits_are_decided),
		cmocka_unit_test(page_faults_are_stalls_of_kernels),
		cmocka_unit_test(waits_not_requested),
		cmocka_unit_test(samples_are_of_their_launch),
		cmocka_unit_test(nothing_is_lost_or_counted_twice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
