/* SPDX-License-Identifier: MIT */
/* Joined operations: their rows, places and origins, and their process's totals. */
#include "attribution_bench.h"

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

/* The profile has all of the work that begins in the time range. The process's tallies have
 * everything. */
static void a_time_range_has_what_begins_in_it(void **state)
{
	static const struct {
		uint64_t start, ns;
	} work[] = {{99, 1000}, {100, 50}, {199, 1000}, {200, 7}, {1000, 9}};
	struct bench *b = new_bench(0, false);
	struct gpu_operation o;

	(void)state;
	b->attribution.time_range = (struct time_range){.from_ns = 100, .to_ns = 200};
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
	/* work without usable times may belong to the time range */
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
	b->attribution.time_range = (struct time_range){.from_ns = 100};
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
	/* time range of the whole run: all is recorded */
	b->attribution.time_range = (struct time_range){.to_ns = 1000};
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

/* An instant has no time, so only the tallies have it. */
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

/* The run's totals include the work of an ended process, and of a process with full tallies. */
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

/* An expired process still has its tallies, though the table has dropped the process. */
static void an_ended_process_is_compared(void **state)
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
	o.process = 999; /* another process's node */
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
	/* the node ran when another graph had the number, but was launched before */
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
	o.process = 999; /* a node of another process with an equal number */
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
		cmocka_unit_test(an_ended_process_is_compared),
		cmocka_unit_test(a_node_is_that_of_its_launch),
		cmocka_unit_test(a_node_that_was_not_seen_is_counted),
		cmocka_unit_test(places_have_the_requested_parts),
		cmocka_unit_test(threads_are_distinguished_by_launch),
		cmocka_unit_test(without_threads_an_origin_is_a_stack),
		cmocka_unit_test(threads_without_number_take_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
