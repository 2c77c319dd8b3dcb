/* SPDX-License-Identifier: MIT */
/*
 * Tests the rules of profiler/join/join.h one by one, then against random ground truths.
 *
 * In the directed tests, times are in ns, and a stack is a number chosen by the test. Attributions
 * are looked up by the operation's own number.
 */
#include "unit.h"
#include "profiler/join/join.h"

#define MS UINT64_C(1000000)
#define LOST UINT64_MAX /* operation without an attribution */

enum { OPERATIONS = 64 };

struct bench {
	struct join *c;
	uint64_t stack_of[OPERATIONS], launched_ns[OPERATIONS]; /* by the operation's number */
	char names[OPERATIONS]; /* addresses that identify operations */
	uint64_t ns;
	uint32_t calls;
};

static void note(void *context, struct origin_id origin, uint64_t launched,
		 const struct gpu_operation *o)
{
	uint32_t stack = origin.number;
	struct bench *b = context;
	size_t number = (size_t)(o->name - b->names);

	assert_true(number < OPERATIONS);
	assert_true(b->stack_of[number] == LOST);
	b->stack_of[number] = stack;
	b->launched_ns[number] = launched;
	b->ns += o->duration_ns;
	b->calls++;
}

static int begin(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));
	struct join_output output = {note, b};

	if (!b)
		return -1;
	memset(b->stack_of, 0xff, sizeof(b->stack_of));
	b->c = join_new(&output);
	*state = b;
	return b->c ? 0 : -1;
}

static int end(void **state)
{
	struct bench *b = *state;

	join_free(b->c);
	free(b);
	return 0;
}

enum { PROCESS = 100, TID = 101, OTHER_TID = 102, OTHER_PROCESS = 200 };

static void probe(struct bench *b, uint64_t time_ns, enum launch_family family, uint32_t stack)
{
	assert_int_equal(join_probe(b->c, PROCESS, TID, time_ns, family, ORIGIN_ID(stack)), 0);
}

static void launch(struct bench *b, uint64_t time_ns, uint32_t id, enum launch_family family)
{
	assert_int_equal(join_launch(b->c, PROCESS, TID, time_ns, id, family, 0), 0);
}

static void graph(struct bench *b, uint64_t time_ns, uint32_t id)
{
	assert_int_equal(join_launch(b->c, PROCESS, TID, time_ns, id, FAMILY_RUNTIME, 1), 0);
}

static void operation_of(struct bench *b, uint32_t process, uint32_t id, uint32_t number)
{
	struct gpu_operation op = {
		.correlation_id = id, .duration_ns = 10 + number, .name = &b->names[number]};

	assert_int_equal(join_operation(b->c, process, &op), 0);
}

static void operation(struct bench *b, uint32_t id, uint32_t number)
{
	operation_of(b, PROCESS, id, number);
}

#define assert_stack(b, number, stack) assert_int_equal((b)->stack_of[number], stack)
#define assert_pending(b, number) assert_true((b)->stack_of[number] == LOST)

/* ---- one launch ---- */

static void a_launch_takes_the_probe_before_it(void **state)
{
	struct bench *b = *state;

	probe(b, 10, FAMILY_RUNTIME, 1);
	launch(b, 11, 7, FAMILY_RUNTIME);
	operation(b, 7, 0);
	assert_pending(b, 0); /* later probes may still come */
	join_advance(b->c, 10);
	assert_pending(b, 0);
	join_advance(b->c, 11);
	assert_stack(b, 0, 1);
	assert_int_equal(join_stats(b->c).matched, 1);
}

static void a_probe_at_the_same_time_counts(void **state)
{
	struct bench *b = *state;

	probe(b, 10, FAMILY_DRIVER, 1);
	launch(b, 10, 7, FAMILY_DRIVER);
	operation(b, 7, 0);
	join_advance(b->c, 10);
	assert_stack(b, 0, 1);
}

static void the_watermark_never_decreases(void **state)
{
	struct bench *b = *state;

	join_advance(b->c, 100);
	join_advance(b->c, 5);
	probe(b, 40, FAMILY_RUNTIME, 1);
	launch(b, 50, 7, FAMILY_RUNTIME);
	operation(b, 7, 0);
	join_advance(b->c, 0);
	assert_stack(b, 0, 1);
}

static void the_three_inputs_may_come_in_any_order(void **state)
{
	static const char orders[][4] = {"plo", "pol", "lpo", "lop", "opl", "olp"};
	struct bench *b = *state;

	for (uint32_t i = 0; i < 6; i++) {
		uint64_t t = 1000 * (i + 1);

		for (const char *at = orders[i]; *at; at++) {
			if (*at == 'p')
				probe(b, t, FAMILY_RUNTIME, 10 + i);
			else if (*at == 'l')
				launch(b, t + 5, 50 + i, FAMILY_RUNTIME);
			else
				operation(b, 50 + i, i);
		}
		join_advance(b->c, t + 6);
		assert_stack(b, i, 10 + i);
	}
}

static void an_operation_after_the_decision_is_attributed_at_once(void **state)
{
	struct bench *b = *state;

	probe(b, 10, FAMILY_RUNTIME, 1);
	launch(b, 11, 7, FAMILY_RUNTIME);
	join_advance(b->c, 20);
	operation(b, 7, 0);
	assert_stack(b, 0, 1);
	/* CUPTI may report more than one record for a launch: the finished launch is remembered */
	operation(b, 7, 1);
	assert_stack(b, 1, 1);
}

static void a_launch_without_a_probe_has_no_stack(void **state)
{
	struct bench *b = *state;

	launch(b, 11, 7, FAMILY_DRIVER);
	operation(b, 7, 0);
	join_advance(b->c, 11);
	assert_stack(b, 0, ORIGIN_UNKNOWN.number);
	assert_int_equal(join_stats(b->c).launches_unprobed, 1);
	assert_int_equal(join_stats(b->c).unmatched, 1);
	assert_int_equal(join_stats(b->c).unmatched_ns, 10);
}

/* ---- several on one thread ---- */

static void owed(struct bench *b, uint32_t process, uint32_t id, enum expected_record what)
{
	assert_int_equal(join_launch_with_stack(b->c, process, 10, id, 1, ORIGIN_ID(5)), 0);
	join_expect_record(b->c, process, id, what);
}

/*
 * A launch without records is counted when its process has ended, or its id is used again. A launch
 * that has had an operation expects no more.
 */
static void launches_without_their_record_are_counted(void **state)
{
	struct bench *b = *state;
	const struct gpu_operation o = {.correlation_id = 2, .name = b->names, .duration_ns = 1};
	const struct gpu_operation late = {
		.correlation_id = 9, .name = b->names + 1, .duration_ns = 1};

	owed(b, PROCESS, 1, JOIN_EXPECTS_COPY);
	owed(b, PROCESS, 2, JOIN_EXPECTS_COPY);
	owed(b, PROCESS, 3, JOIN_EXPECTS_GRAPH);
	owed(b, PROCESS, 4, JOIN_EXPECTS_NOTHING);
	owed(b, PROCESS, 5, JOIN_EXPECTS_COPY);
	owed(b, PROCESS, 6, JOIN_EXPECTS_GRAPH);
	join_expect_record(b->c, PROCESS, 5, JOIN_EXPECTS_NOTHING); /* the launch was void */
	join_expect_record(b->c, PROCESS, 99, JOIN_EXPECTS_COPY);   /* never came */
	join_operation(b->c, PROCESS, &o);
	join_operation(b->c, PROCESS, &late); /* an operation before its launch */
	owed(b, PROCESS, 9, JOIN_EXPECTS_COPY);
	assert_int_equal(join_stats(b->c).copies_without_record, 0);
	owed(b, PROCESS, 1, JOIN_EXPECTS_COPY); /* the id again */
	assert_int_equal(join_stats(b->c).copies_without_record, 1);
	owed(b, OTHER_PROCESS, 1, JOIN_EXPECTS_COPY);
	join_end_process(b->c, PROCESS);
	join_finish(b->c);
	join_finish(b->c);
	assert_int_equal(join_stats(b->c).copies_without_record, 3);
	assert_int_equal(join_stats(b->c).graphs_without_record, 2);
}

static void ended_processes_are_asked_before_they_are_forgotten(void **state)
{
	struct bench *b = *state;

	for (uint32_t process = 1; process <= 3 * JOIN_ENDED_MAX; process++) {
		owed(b, process, 1, JOIN_EXPECTS_COPY);
		join_end_process(b->c, process);
	}
	assert_int_equal(join_stats(b->c).copies_without_record, 3 * JOIN_ENDED_MAX);
}

static void launches_of_a_thread_take_probes_in_order(void **state)
{
	struct bench *b = *state;

	for (uint32_t i = 0; i < 10; i++) {
		probe(b, 100 * i + 10, FAMILY_RUNTIME, i);
		launch(b, 100 * i + 20, 7 + i, FAMILY_RUNTIME);
		operation(b, 7 + i, i);
	}
	join_advance(b->c, 10000);
	for (uint32_t i = 0; i < 10; i++)
		assert_stack(b, i, i);
	assert_int_equal(join_stats(b->c).probes_unused, 0);
}

static void the_latest_probe_wins(void **state)
{
	struct bench *b = *state;

	/* the first call was reported by no callback, for instance because it failed early */
	probe(b, 10, FAMILY_RUNTIME, 1);
	probe(b, 20, FAMILY_RUNTIME, 2);
	launch(b, 21, 7, FAMILY_RUNTIME);
	operation(b, 7, 0);
	join_advance(b->c, 30);
	assert_stack(b, 0, 2);
	assert_int_equal(join_stats(b->c).probes_unused, 1);
}

static void a_probe_serves_one_launch_only(void **state)
{
	struct bench *b = *state;

	probe(b, 10, FAMILY_RUNTIME, 1);
	launch(b, 11, 7, FAMILY_RUNTIME);
	launch(b, 21, 8, FAMILY_RUNTIME);
	operation(b, 7, 0);
	operation(b, 8, 1);
	join_finish(b->c);
	assert_stack(b, 0, 1);
	assert_stack(b, 1, ORIGIN_UNKNOWN.number);
}

static void a_runtime_launch_takes_no_driver_probe_from_before_it(void **state)
{
	struct bench *b = *state;

	probe(b, 10, FAMILY_DRIVER, 1);
	launch(b, 11, 7, FAMILY_RUNTIME);
	operation(b, 7, 0);
	join_finish(b->c);
	assert_stack(b, 0, ORIGIN_UNKNOWN.number);
	assert_int_equal(join_stats(b->c).probes_unused, 1);
}

/* The first CUDA call of a program: CUPTI starts inside it and sees the nested call only. */
static void a_driver_launch_without_a_driver_probe_takes_a_runtime_probe(void **state)
{
	struct bench *b = *state;

	probe(b, 10, FAMILY_RUNTIME, 1);
	launch(b, 11, 7, FAMILY_DRIVER);
	operation(b, 7, 0);
	probe(b, 20, FAMILY_DRIVER, 2);
	probe(b, 21, FAMILY_RUNTIME, 3); /* later, but not of its family */
	launch(b, 22, 8, FAMILY_DRIVER);
	operation(b, 8, 1);
	join_advance(b->c, 30);
	assert_stack(b, 0, 1);
	assert_stack(b, 1, 2);
	assert_int_equal(join_stats(b->c).probes_unused, 1);
}

static void other_threads_probes_are_not_taken(void **state)
{
	struct bench *b = *state;

	assert_int_equal(join_probe(b->c, PROCESS, OTHER_TID, 10, FAMILY_RUNTIME, ORIGIN_ID(1)), 0);
	launch(b, 11, 7, FAMILY_RUNTIME);
	operation(b, 7, 0);
	join_finish(b->c);
	assert_stack(b, 0, ORIGIN_UNKNOWN.number);
}

static void inputs_of_a_thread_are_put_in_order(void **state)
{
	struct bench *b = *state;

	launch(b, 41, 9, FAMILY_RUNTIME);
	probe(b, 40, FAMILY_RUNTIME, 3);
	launch(b, 11, 7, FAMILY_RUNTIME);
	probe(b, 20, FAMILY_RUNTIME, 2);
	probe(b, 10, FAMILY_RUNTIME, 1);
	launch(b, 21, 8, FAMILY_RUNTIME);
	for (uint32_t i = 0; i < 3; i++)
		operation(b, 7 + i, i);
	join_advance(b->c, 50);
	for (uint32_t i = 0; i < 3; i++)
		assert_stack(b, i, 1 + i);
}

/* ---- nested driver calls ---- */

static void a_nested_driver_probe_is_ignored(void **state)
{
	struct bench *b = *state;

	probe(b, 10, FAMILY_RUNTIME, 1);
	launch(b, 11, 7, FAMILY_RUNTIME);
	probe(b, 12, FAMILY_DRIVER, 2);
	probe(b, 20, FAMILY_RUNTIME, 3);
	launch(b, 21, 8, FAMILY_RUNTIME);
	probe(b, 22, FAMILY_DRIVER, 4);
	operation(b, 7, 0);
	operation(b, 8, 1);
	join_finish(b->c);
	assert_stack(b, 0, 1);
	assert_stack(b, 1, 3);
	assert_int_equal(join_stats(b->c).probes_unused, 2);
}

static void a_stripped_runtime_takes_its_nested_driver_probe(void **state)
{
	struct bench *b = *state;

	launch(b, 11, 7, FAMILY_RUNTIME);
	probe(b, 12, FAMILY_DRIVER, 2);
	operation(b, 7, 0);
	join_advance(b->c, 400 * MS);
	assert_pending(b, 0); /* the thread's next launch is not known yet */
	join_advance(b->c, 11 + JOIN_NESTED_NS);
	assert_stack(b, 0, 2);
}

static void the_next_launch_ends_the_wait_for_a_nested_probe(void **state)
{
	struct bench *b = *state;

	launch(b, 11, 7, FAMILY_RUNTIME);
	probe(b, 12, FAMILY_DRIVER, 2);
	launch(b, 21, 8, FAMILY_RUNTIME);
	probe(b, 22, FAMILY_DRIVER, 3);
	operation(b, 7, 0);
	operation(b, 8, 1);
	join_advance(b->c, 20);
	assert_pending(b, 0);
	join_advance(b->c, 21);
	assert_stack(b, 0, 2);
	assert_pending(b, 1);
	join_finish(b->c);
	assert_stack(b, 1, 3);
}

static void the_next_runtime_probe_is_never_taken_as_nested(void **state)
{
	struct bench *b = *state;

	launch(b, 11, 7, FAMILY_RUNTIME); /* the probe was lost */
	probe(b, 20, FAMILY_RUNTIME, 2);
	launch(b, 21, 8, FAMILY_RUNTIME);
	operation(b, 7, 0);
	operation(b, 8, 1);
	join_finish(b->c);
	assert_stack(b, 0, ORIGIN_UNKNOWN.number);
	assert_stack(b, 1, 2);
}

static void a_driver_launch_keeps_its_probe_after_an_unprobed_runtime_launch(void **state)
{
	struct bench *b = *state;

	launch(b, 11, 7, FAMILY_RUNTIME); /* the probe was lost; no nested call */
	probe(b, 20, FAMILY_DRIVER, 2);
	launch(b, 21, 8, FAMILY_DRIVER);
	operation(b, 7, 0);
	operation(b, 8, 1);
	join_finish(b->c);
	assert_stack(b, 0, ORIGIN_UNKNOWN.number);
	assert_stack(b, 1, 2);
}

static void stripped_runtime_and_driver_launches_alternate(void **state)
{
	struct bench *b = *state;

	for (uint32_t i = 0; i < 6; i += 2) {
		uint64_t t = 100 * i;

		launch(b, t + 11, 7 + i, FAMILY_RUNTIME);
		probe(b, t + 12, FAMILY_DRIVER, i);
		probe(b, t + 20, FAMILY_DRIVER, i + 1);
		launch(b, t + 21, 8 + i, FAMILY_DRIVER);
		operation(b, 7 + i, i);
		operation(b, 8 + i, i + 1);
	}
	join_advance(b->c, 10000);
	for (uint32_t i = 0; i < 6; i++)
		assert_stack(b, i, i);
	assert_int_equal(join_stats(b->c).probes_unused, 0);
}

static void a_driver_launch_long_after_a_stripped_one_does_not_matter(void **state)
{
	struct bench *b = *state;

	launch(b, 11, 7, FAMILY_RUNTIME);
	probe(b, 12, FAMILY_DRIVER, 2);
	probe(b, 3000 * MS, FAMILY_DRIVER, 3);
	launch(b, 3000 * MS + 1, 8, FAMILY_DRIVER);
	operation(b, 7, 0);
	operation(b, 8, 1);
	join_finish(b->c);
	assert_stack(b, 0, 2);
	assert_stack(b, 1, 3);
}

static void a_late_driver_probe_is_not_nested(void **state)
{
	struct bench *b = *state;

	launch(b, 11, 7, FAMILY_RUNTIME);
	probe(b, 11 + JOIN_NESTED_NS, FAMILY_DRIVER, 2);
	operation(b, 7, 0);
	join_finish(b->c);
	assert_stack(b, 0, ORIGIN_UNKNOWN.number);
}

/* ---- graphs ---- */

static void a_graph_launch_has_any_number_of_operations(void **state)
{
	struct bench *b = *state;

	probe(b, 10, FAMILY_RUNTIME, 1);
	graph(b, 11, 7);
	for (uint32_t i = 0; i < 20; i++)
		operation(b, 7, i);
	join_advance(b->c, 20);
	for (uint32_t i = 20; i < 40; i++) {
		operation(b, 7, i);
		join_advance(b->c, 20 + i * 5000 * MS);
	}
	for (uint32_t i = 0; i < 40; i++)
		assert_stack(b, i, 1);
}

static void a_graph_without_operations_is_fine(void **state)
{
	struct bench *b = *state;

	probe(b, 10, FAMILY_RUNTIME, 1);
	graph(b, 11, 7);
	join_finish(b->c);
	assert_int_equal(b->calls, 0);
	assert_int_equal(join_stats(b->c).operations, 0);
}

/* ---- correlation ids ---- */

static void a_reused_id_means_the_new_launch(void **state)
{
	struct bench *b = *state;

	probe(b, 10, FAMILY_RUNTIME, 1);
	launch(b, 11, 7, FAMILY_RUNTIME);
	operation(b, 7, 0);
	join_advance(b->c, 15);
	probe(b, 20, FAMILY_RUNTIME, 2);
	launch(b, 21, 7, FAMILY_RUNTIME);
	operation(b, 7, 1);
	join_advance(b->c, 25);
	assert_stack(b, 0, 1);
	assert_stack(b, 1, 2);
	assert_int_equal(join_stats(b->c).launches_confused, 1);
}

static void an_id_reused_before_the_decision_still_means_the_new_launch(void **state)
{
	struct bench *b = *state;

	probe(b, 10, FAMILY_RUNTIME, 1);
	launch(b, 11, 7, FAMILY_RUNTIME);
	operation(b, 7, 0);
	probe(b, 20, FAMILY_RUNTIME, 2);
	launch(b, 21, 7, FAMILY_RUNTIME);
	operation(b, 7, 1);
	join_advance(b->c, 25);
	assert_true(b->stack_of[0] == 1 || b->stack_of[0] == ORIGIN_UNKNOWN.number);
	assert_stack(b, 1, 2);
	assert_int_equal(join_stats(b->c).launches_confused, 1);
}

static void an_id_reused_with_the_same_stack_confuses_nothing(void **state)
{
	struct bench *b = *state;

	for (uint64_t i = 0; i < 2; i++) {
		assert_int_equal(join_launch_with_stack(b->c, PROCESS, 11 + i, 7, 0, ORIGIN_ID(5)),
				 0);
		operation(b, 7, (uint32_t)i);
		assert_stack(b, (uint32_t)i, 5);
	}
	assert_int_equal(join_stats(b->c).launches_confused, 0);
	assert_int_equal(join_launch_with_stack(b->c, PROCESS, 13, 7, 0, ORIGIN_ID(6)), 0);
	assert_int_equal(join_stats(b->c).launches_confused, 1);
}

static void ids_of_two_processes_are_apart(void **state)
{
	struct bench *b = *state;

	probe(b, 10, FAMILY_RUNTIME, 1);
	launch(b, 11, 7, FAMILY_RUNTIME);
	/* both processes have one thread id: pid namespaces make that possible */
	assert_int_equal(join_probe(b->c, OTHER_PROCESS, TID, 10, FAMILY_RUNTIME, ORIGIN_ID(2)), 0);
	assert_int_equal(join_launch(b->c, OTHER_PROCESS, TID, 11, 7, FAMILY_RUNTIME, 0), 0);
	operation_of(b, OTHER_PROCESS, 7, 0);
	operation(b, 7, 1);
	join_advance(b->c, 20);
	assert_stack(b, 0, 2);
	assert_stack(b, 1, 1);
	assert_int_equal(join_stats(b->c).launches_confused, 0);
}

static void the_largest_ids_are_ordinary(void **state)
{
	struct bench *b = *state;
	struct gpu_operation op = {
		.correlation_id = UINT32_MAX, .duration_ns = 5, .name = &b->names[0]};

	assert_int_equal(join_probe(b->c, UINT32_MAX, UINT32_MAX, 10, FAMILY_DRIVER, ORIGIN_ID(1)),
			 0);
	assert_int_equal(join_launch(b->c, UINT32_MAX, UINT32_MAX, UINT64_MAX - 5, UINT32_MAX,
				     FAMILY_DRIVER, 0),
			 0);
	assert_int_equal(join_operation(b->c, UINT32_MAX, &op), 0);
	join_finish(b->c);
	assert_stack(b, 0, 1);
}

static void an_operation_is_output_with_its_launchs_time(void **state)
{
	struct bench *b = *state;

	graph(b, 21, 7);
	operation(b, 7, 0);
	assert_int_equal(join_launch_with_stack(b->c, PROCESS, 31, 7, 1, ORIGIN_ID(5)), 0);
	operation(b, 7, 1);
	join_finish(b->c);
	assert_int_equal(b->launched_ns[0], 21);
	assert_int_equal(b->launched_ns[1], 31);
}

/* ---- processes that end ---- */

static void an_end_decides_all_that_is_pending(void **state)
{
	struct bench *b = *state;

	probe(b, 10, FAMILY_RUNTIME, 1);
	launch(b, 11, 7, FAMILY_RUNTIME);
	operation(b, 7, 0);
	launch(b, 21, 8, FAMILY_RUNTIME); /* stripped: would wait for its nested probe */
	probe(b, 22, FAMILY_DRIVER, 2);
	operation(b, 8, 1);
	operation(b, 9, 2); /* no launch */
	operation_of(b, OTHER_PROCESS, 9, 3);
	join_end_process(b->c, PROCESS);
	assert_stack(b, 0, 1);
	assert_stack(b, 1, 2);
	assert_stack(b, 2, ORIGIN_UNKNOWN.number);
	assert_pending(b, 3);
	assert_int_equal(join_stats(b->c).launches_unprobed, 0);
}

static void an_end_leaves_other_processes_alone(void **state)
{
	struct bench *b = *state;

	probe(b, 10, FAMILY_RUNTIME, 1);
	launch(b, 11, 7, FAMILY_RUNTIME);
	operation(b, 7, 0);
	join_end_process(b->c, OTHER_PROCESS);
	join_end_process(b->c, TID);
	assert_pending(b, 0);
	join_advance(b->c, 20);
	assert_stack(b, 0, 1);
}

/* Ends this number of other processes, each with a launch. */
static void end_others(struct bench *b, uint32_t ends)
{
	for (uint32_t i = 0; i < ends; i++) {
		assert_int_equal(join_launch_with_stack(b->c, 1000 + i, 5, 7, 0, ORIGIN_ID(3)), 0);
		join_end_process(b->c, 1000 + i);
	}
}

/* Many are forgotten at a time. */
static void ended_processes_are_forgotten_together(void **state)
{
	struct bench *b = *state;

	assert_int_equal(join_launch_with_stack(b->c, PROCESS, 11, 7, 0, ORIGIN_ID(1)), 0);
	assert_int_equal(join_launch_with_stack(b->c, OTHER_PROCESS, 11, 7, 0, ORIGIN_ID(2)), 0);
	operation_of(b, OTHER_PROCESS, 8, 0); /* the launch is still to come */
	join_end_process(b->c, PROCESS);
	operation_of(b, PROCESS, 8, 1); /* though nothing more should come: not lost either */
	end_others(b, JOIN_ENDED_MAX - 1);
	assert_stack(b, 1, ORIGIN_UNKNOWN.number);
	assert_pending(b, 0);
	operation_of(b, PROCESS, 7, 2); /* as if the launch had never come */
	assert_pending(b, 2);
	operation_of(b, OTHER_PROCESS, 7, 3);
	assert_stack(b, 3, 2);
	assert_int_equal(join_launch_with_stack(b->c, OTHER_PROCESS, 12, 8, 0, ORIGIN_ID(4)), 0);
	assert_stack(b, 0, 4);
	join_finish(b->c);
	assert_stack(b, 2, ORIGIN_UNKNOWN.number);
}

/* The next program under this pid is another process. */
static void an_end_belongs_to_its_own_launch(void **state)
{
	struct bench *b = *state;

	probe(b, 10, FAMILY_RUNTIME, 1);
	launch(b, 11, 7, FAMILY_RUNTIME);
	join_end_process(b->c, PROCESS);
	operation_of(b, OTHER_PROCESS, 7, 0);
	assert_pending(b, 0);
	assert_int_equal(join_launch(b->c, OTHER_PROCESS, TID, 31, 7, FAMILY_RUNTIME, 0), 0);
	operation_of(b, OTHER_PROCESS, 7, 1);
	join_finish(b->c);
	assert_stack(b, 0, ORIGIN_UNKNOWN.number);
	assert_stack(b, 1, ORIGIN_UNKNOWN.number);
}

/* A process's end drops its probes without a launch. */
static void an_end_drops_remaining_probes(void **state)
{
	struct bench *b = *state;

	assert_int_equal(join_probe(b->c, OTHER_PROCESS, TID, 10, FAMILY_RUNTIME, ORIGIN_ID(2)), 0);
	for (uint32_t i = 0; i < 5; i++)
		probe(b, 10 + i, FAMILY_RUNTIME, 1);
	join_end_process(b->c, PROCESS);
	assert_int_equal(join_stats(b->c).probes_unused, 5);
	assert_int_equal(join_launch(b->c, OTHER_PROCESS, TID, 31, 7, FAMILY_RUNTIME, 0), 0);
	operation_of(b, OTHER_PROCESS, 7, 0);
	join_finish(b->c);
	assert_stack(b, 0, 2);
	assert_int_equal(join_stats(b->c).probes_unused, 5);
}

/* ---- operations without a launch ---- */

static void an_operation_waits_for_its_launch_with_patience(void **state)
{
	struct bench *b = *state;

	operation(b, 7, 0);
	operation(b, 8, 1);
	join_advance(b->c, 1000); /* from this time on */
	join_advance(b->c, 1000 + JOIN_TIMEOUT_NS - 1);
	assert_pending(b, 0);
	probe(b, 5000 * MS, FAMILY_RUNTIME, 1);
	launch(b, 5000 * MS, 8, FAMILY_RUNTIME);
	join_advance(b->c, 1000 + JOIN_TIMEOUT_NS);
	assert_stack(b, 0, ORIGIN_UNKNOWN.number);
	assert_pending(b, 1); /* the launch arrived in time, and waits for its probe */
	join_advance(b->c, 6000 * MS);
	assert_stack(b, 1, 1);
}

/* The profiler was stopped for long: newly read operations have not waited yet. */
static void timeout_begins_when_an_operation_is_read(void **state)
{
	struct bench *b = *state;

	operation(b, 7, 0);
	join_advance(b->c, 1000);
	operation(b, 8, 1);
	join_advance(b->c, 10 * JOIN_TIMEOUT_NS);
	assert_stack(b, 0, ORIGIN_UNKNOWN.number);
	assert_pending(b, 1);
	assert_int_equal(join_launch_with_stack(b->c, PROCESS, 5000 * MS, 8, 0, ORIGIN_ID(3)), 0);
	assert_stack(b, 1, 3);
}

static void a_launch_after_the_operation_was_given_up_harms_nothing(void **state)
{
	struct bench *b = *state;

	operation(b, 7, 0);
	join_advance(b->c, 1);
	join_advance(b->c, 1 + JOIN_TIMEOUT_NS);
	assert_stack(b, 0, ORIGIN_UNKNOWN.number);
	operation(b, 7, 1);
	probe(b, 5000 * MS, FAMILY_RUNTIME, 1);
	launch(b, 5000 * MS, 7, FAMILY_RUNTIME);
	operation(b, 7, 2);
	join_finish(b->c);
	assert_stack(b, 1, ORIGIN_UNKNOWN.number);
	assert_stack(b, 2, 1);
}

static void finish_attributes_everything(void **state)
{
	struct bench *b = *state;

	operation(b, 7, 0);
	operation(b, 8, 1);
	launch(b, 30, 8, FAMILY_DRIVER);
	probe(b, 40, FAMILY_RUNTIME, 2);
	launch(b, 41, 9, FAMILY_RUNTIME);
	operation(b, 9, 2);
	join_finish(b->c);
	assert_stack(b, 0, ORIGIN_UNKNOWN.number);
	assert_stack(b, 1, ORIGIN_UNKNOWN.number);
	assert_stack(b, 2, 2);
	join_finish(b->c);
	assert_int_equal(b->calls, 3);
	assert_int_equal(b->ns, 10 + 11 + 12);
}

struct sums {
	uint64_t operations, ns, without_stack;
};

static void sum_up(void *context, struct origin_id origin, uint64_t launched,
		   const struct gpu_operation *o)
{
	uint32_t stack = origin.number;
	struct sums *sums = context;

	(void)launched;
	sums->operations++;
	sums->ns += o->duration_ns;
	sums->without_stack += stack == ORIGIN_UNKNOWN.number;
}

/* Adds a remark on launch `id`. */
static void remark_on(struct bench *b, uint32_t id, uint32_t number)
{
	struct gpu_operation op = {
		.correlation_id = id, .work = JOIN_REMARK, .name = &b->names[number]};

	assert_int_equal(join_operation(b->c, PROCESS, &op), 0);
}

/* Work runs as long as a launch has no record, or is of a graph that may have more. */
static void work_that_may_be_running_is_found(void **state)
{
	struct bench *b = *state;
	const struct gpu_operation o = {.correlation_id = 1, .name = b->names, .duration_ns = 1};
	const struct gpu_operation node = {
		.correlation_id = 2, .name = b->names + 1, .duration_ns = 1};

	assert_false(join_may_be_running(b->c, 100, 0));
	assert_int_equal(join_launch_with_stack(b->c, PROCESS, 10, 1, 0, ORIGIN_ID(5)), 0);
	assert_false(join_may_be_running(b->c, 100, 0)); /* expects nothing */
	join_expect_record(b->c, PROCESS, 1, JOIN_EXPECTS_COPY);
	assert_true(join_may_be_running(b->c, 100, 0));
	assert_false(join_may_be_running(b->c, 10, 0)); /* launched later */
	join_operation(b->c, PROCESS, &o);
	assert_false(join_may_be_running(b->c, 100, 0));
	owed(b, PROCESS, 2, JOIN_EXPECTS_GRAPH);
	assert_true(join_may_be_running(b->c, 100, 50));
	join_operation(b->c, PROCESS, &node);
	assert_true(join_may_be_running(b->c, 100, 10)); /* it may have more nodes */
	assert_false(join_may_be_running(b->c, 100, 11));
}

/* A remark before, after or without its launch finds it. Nothing counts remarks. */
static void a_remark_finds_its_launch(void **state)
{
	struct bench *b = *state;
	struct join_stats stats;

	remark_on(b, 7, 0);
	assert_pending(b, 0);
	assert_int_equal(join_launch_with_stack(b->c, PROCESS, 5, 7, 1, ORIGIN_ID(3)), 0);
	assert_stack(b, 0, 3);
	assert_int_equal(b->launched_ns[0], 5);
	join_expect_record(b->c, PROCESS, 7, JOIN_EXPECTS_GRAPH);
	remark_on(b, 7, 1);
	assert_stack(b, 1, 3);
	remark_on(b, 8, 2);
	assert_pending(b, 2);
	join_finish(b->c);
	assert_stack(b, 2, ORIGIN_UNKNOWN.number);
	stats = join_stats(b->c);
	assert_int_equal(stats.operations, 0);
	assert_int_equal(stats.matched, 0);
	assert_int_equal(stats.unmatched, 0);
	assert_int_equal(stats.graphs_without_record, 1);
}

static void the_memory_of_finished_launches_is_bounded(void **state)
{
	const uint32_t n = (1u << 20) + 1000;
	struct sums sums = {0};
	struct join_output output = {sum_up, &sums};
	struct join *c = join_new(&output);
	struct gpu_operation op = {.duration_ns = 3, .name = ""};

	(void)state;
	for (uint32_t i = 0; i < n; i++) {
		uint64_t t = 10 * (uint64_t)i;

		op.correlation_id = i;
		join_probe(c, 1, 1, t, FAMILY_DRIVER, ORIGIN_ID(4));
		join_launch(c, 1, 1, t + 1, i, FAMILY_DRIVER, 0);
		join_operation(c, 1, &op);
		if (i % 64 == 0)
			join_advance(c, t + 1);
	}
	join_advance(c, UINT64_C(20) * n);
	assert_int_equal(sums.operations, n);
	op.correlation_id = n - 1; /* still known */
	assert_int_equal(join_operation(c, 1, &op), 0);
	assert_int_equal(sums.operations, n + 1);
	assert_int_equal(sums.without_stack, 0);
	op.correlation_id = 0; /* forgotten: waits, and is attributed in the end */
	assert_int_equal(join_operation(c, 1, &op), 0);
	assert_int_equal(sums.operations, n + 1);
	join_finish(c);
	assert_int_equal(sums.operations, n + 2);
	assert_int_equal(sums.without_stack, 1);
	assert_int_equal(sums.ns, 3 * (uint64_t)(n + 2));
	join_free(c);
}

/* ---- random ground truths ---- */

/*
 * A world consists of processes with threads that launch in sequence. Some processes execute
 * another program, and count as another process from then on. Each event becomes a delivery, which
 * its own delay puts after the event. So the three streams mix in any way that join.h allows. A
 * process's end comes after all of its other events.
 */

enum { MAX_CALLS = 400, MAX_DELIVERIES = 8000, MAX_WORLD_OPERATIONS = 4000 };

enum call_kind {
	PROBED,   /* runtime, probed */
	NESTING,  /* runtime, probed, and its nested driver call too */
	STRIPPED, /* runtime, only its nested driver call is probed */
	DIRECT,   /* driver */
	CALL_KINDS
};

struct call {
	uint32_t process, tid;
	bool probe_dropped;
	uint64_t launched_ns;
};

struct delivery {
	uint64_t moment;
	enum { PROBE, LAUNCH, OPERATION, END } kind;
	uint32_t process, tid;
	uint64_t time_ns;
	enum launch_family family;
	uint32_t call; /* whose it is; also the id of the right stack */
	uint32_t correlation_id;
	bool is_graph;
	uint32_t number; /* OPERATION: index into attributions */
	uint64_t duration_ns;
};

/* The result of an operation. The operation's name points to it. */
struct attribution {
	uint32_t call;
	uint32_t times;
	uint32_t stack;
	uint64_t launched_ns, ns;
};

struct world {
	struct prng random;
	uint32_t drop_percent;
	bool shuffled; /* all before the first watermark, in any order */
	struct call calls[MAX_CALLS];
	uint32_t call_count;
	struct delivery deliveries[MAX_DELIVERIES];
	uint32_t delivery_count;
	struct attribution attributions[MAX_WORLD_OPERATIONS];
	uint32_t operation_count;
	uint64_t nested;
};

#define NESTED_STACK \
	1000000u /* + call: the stack of a nested driver probe that nobody should use */

static bool is_dropped(struct world *w)
{
	return w->drop_percent && prng_chance(&w->random, w->drop_percent);
}

static void deliver(struct world *w, const struct delivery *d)
{
	if (w->delivery_count < MAX_DELIVERIES)
		w->deliveries[w->delivery_count++] = *d;
}

struct thread_plan {
	uint32_t process, tid;
	uint64_t born;         /* start of the program; no delivery comes before it */
	uint64_t now;          /* time of the thread */
	uint64_t launch_delay; /* delay of the target's pipe */
	uint64_t last_launch_moment;
	uint32_t *next_id; /* the process's next id */
	bool after_stripped;
};

static void add_operations(struct world *w, const struct thread_plan *t, uint32_t call,
			   uint32_t correlation_id, bool is_graph, uint64_t launch_moment)
{
	struct prng *p = &w->random;
	uint32_t n = is_graph ? (uint32_t)prng_below(p, 9) : 1;

	for (uint32_t i = 0; i < n && w->operation_count < MAX_WORLD_OPERATIONS; i++) {
		uint64_t ahead = prng_bits(p, 12), behind = prng_bits(p, 34);
		struct delivery d = {
			.kind = OPERATION,
			.process = t->process,
			.call = call,
			.correlation_id = correlation_id,
			.number = w->operation_count,
			.duration_ns = prng_bits(p, 50),
			.moment = prng_chance(p, 20) && launch_moment > t->born + ahead
					  ? launch_moment - ahead
					  : launch_moment + behind,
		};

		if (is_dropped(w))
			continue;
		w->attributions[w->operation_count++] = (struct attribution){.call = call};
		deliver(w, &d);
	}
}

static void add_probe(struct world *w, const struct thread_plan *t, enum launch_family family,
		      uint64_t time_ns, uint32_t stack)
{
	struct delivery d = {
		.kind = PROBE,
		.process = t->process,
		.tid = t->tid,
		.time_ns = time_ns,
		.family = family,
		.call = stack,
		.moment = time_ns + prng_bits(&w->random, 24),
	};

	deliver(w, &d);
}

static void add_call(struct world *w, struct thread_plan *t)
{
	struct prng *p = &w->random;
	enum call_kind kind = (enum call_kind)prng_below(p, CALL_KINDS);
	bool is_graph = prng_chance(p, 15);
	uint32_t call = w->call_count++;
	uint64_t entered = t->now + 1, reported, left;
	struct delivery d = {.kind = LAUNCH, .process = t->process, .tid = t->tid, .call = call};

	/* right after a stripped launch, a probe at the very time of its launch would look nested
	 */
	reported = entered + prng_bits(p, 16) + (t->after_stripped ? 1 : 0);
	left = reported + 1 + prng_bits(p, 16);
	w->calls[call] = (struct call){t->process, t->tid, is_dropped(w), reported};
	if (kind != STRIPPED && !w->calls[call].probe_dropped)
		add_probe(w, t, kind == DIRECT ? FAMILY_DRIVER : FAMILY_RUNTIME, entered, call);
	if (kind == STRIPPED && !w->calls[call].probe_dropped)
		add_probe(w, t, FAMILY_DRIVER, left, call);
	if (kind == NESTING && !is_dropped(w)) {
		add_probe(w, t, FAMILY_DRIVER, left, NESTED_STACK + call);
		w->nested++;
	}
	t->after_stripped = kind == STRIPPED;
	t->now = left + prng_bits(p, prng_chance(p, 5) ? 31 : 20);

	d.time_ns = reported;
	d.family = kind == DIRECT ? FAMILY_DRIVER : FAMILY_RUNTIME;
	d.is_graph = is_graph;
	d.correlation_id = (*t->next_id)++;
	d.moment = reported + t->launch_delay + prng_bits(p, 20);
	if (d.moment <= t->last_launch_moment)
		d.moment = t->last_launch_moment + 1; /* a thread's launches come in order */
	t->last_launch_moment = d.moment;
	add_operations(w, t, call, d.correlation_id, is_graph, d.moment);
	if (!is_dropped(w))
		deliver(w, &d);
}

/* Adds a process that exists from `start` on, with threads whose ids others may use, too. */
static void add_process(struct world *w, uint32_t process, uint32_t tid, uint64_t start)
{
	struct prng *p = &w->random;
	uint32_t threads = 1 + (uint32_t)prng_below(p, 4), id = (uint32_t)prng_below(p, 3);
	uint64_t delay = prng_bits(p, 30);

	for (uint32_t i = 0; i < threads; i++) {
		struct thread_plan t = {
			.process = process,
			.tid = tid + i,
			.born = start,
			.now = start + prng_bits(p, 20),
			.launch_delay = delay,
			.next_id = &id,
		};

		for (uint64_t n = prng_below(p, 16); n > 0 && w->call_count < MAX_CALLS; n--)
			add_call(w, &t);
	}
}

/* Ends a process, whose deliveries begin at `first`. */
static void end_process(struct world *w, uint32_t process, uint32_t first)
{
	struct delivery end = {.kind = END, .process = process};

	for (uint32_t i = first; i < w->delivery_count; i++)
		if (w->deliveries[i].moment >= end.moment)
			end.moment = w->deliveries[i].moment + 1;
	deliver(w, &end);
}

static void make_world(struct world *w)
{
	struct prng *p = &w->random;
	uint32_t processes = 1 + (uint32_t)prng_below(p, 3);

	for (uint32_t i = 0; i < processes; i++) {
		uint32_t first = w->delivery_count, process = 1000 + 10 * i;

		add_process(w, process, process, prng_bits(p, 24));
		if (w->shuffled || prng_chance(p, 60))
			continue;
		end_process(w, process, first);
		first = w->delivery_count;
		add_process(w, process + 1, process, prng_bits(p, 26));
		if (prng_chance(p, 50))
			end_process(w, process + 1, first);
	}
	if (w->shuffled)
		for (uint32_t i = 0; i < w->delivery_count; i++)
			w->deliveries[i].moment = prng_u64(p);
}

static int by_moment(const void *a, const void *b)
{
	const struct delivery *x = a, *y = b;

	if (x->moment != y->moment)
		return x->moment < y->moment ? -1 : 1;
	return x->call < y->call ? -1 : x->call > y->call;
}

static void record(void *context, struct origin_id origin, uint64_t launched,
		   const struct gpu_operation *o)
{
	uint32_t stack = origin.number;
	struct attribution *a = (struct attribution *)(uintptr_t)o->name;

	(void)context;
	a->times++;
	a->stack = stack;
	a->launched_ns = launched;
	a->ns = o->duration_ns;
}

/*
 * Returns the latest watermark that is valid before delivery `at`: all earlier probes have come.
 * While an operation waits for a launch that will come, the timeout must not run out.
 */
static uint64_t allowed_watermark(const struct world *w, uint32_t at, uint64_t timeout_until)
{
	uint64_t until = UINT64_C(1) << 62;

	for (uint32_t i = at; i < w->delivery_count; i++)
		if (w->deliveries[i].kind == PROBE && w->deliveries[i].time_ns <= until)
			until = w->deliveries[i].time_ns - 1;
	return until < timeout_until ? until : timeout_until;
}

static bool launch_is_still_to_come(const struct world *w, uint32_t at)
{
	for (uint32_t i = at + 1; i < w->delivery_count; i++)
		if (w->deliveries[i].kind == LAUNCH &&
		    w->deliveries[i].call == w->deliveries[at].call)
			return true;
	return false;
}

static void hand_in(struct world *w, struct join *c, const struct delivery *d)
{
	struct gpu_operation op = {.correlation_id = d->correlation_id,
				   .duration_ns = d->duration_ns,
				   .name = (const char *)&w->attributions[d->number]};
	int err = 0;

	if (d->kind == PROBE)
		err = join_probe(c, d->process, d->tid, d->time_ns, d->family, ORIGIN_ID(d->call));
	else if (d->kind == LAUNCH)
		err = join_launch(c, d->process, d->tid, d->time_ns, d->correlation_id, d->family,
				  d->is_graph);
	else if (d->kind == OPERATION)
		err = join_operation(c, d->process, &op);
	else
		join_end_process(c, d->process);
	EXPECT(&w->random, err == 0);
}

static void play(struct world *w, struct join *c)
{
	uint64_t watermark = 0, timeout_until = UINT64_MAX;
	uint32_t every = 1 + (uint32_t)prng_below(&w->random, 20);

	for (uint32_t i = 0; i < w->delivery_count; i++) {
		const struct delivery *d = &w->deliveries[i];

		if (!w->shuffled && prng_below(&w->random, every) == 0) {
			uint64_t allowed = allowed_watermark(w, i, timeout_until);

			/* sometimes late, like a busy reader */
			if (allowed > watermark && prng_chance(&w->random, 30))
				allowed = watermark + prng_below(&w->random, allowed - watermark);
			if (allowed > watermark)
				watermark = allowed;
			join_advance(c, watermark);
		}
		if (d->kind == OPERATION && launch_is_still_to_come(w, i) &&
		    timeout_until > watermark + JOIN_TIMEOUT_NS - 1)
			timeout_until = watermark + JOIN_TIMEOUT_NS - 1;
		hand_in(w, c, d);
	}
	if (prng_chance(&w->random, 50))
		join_advance(c, UINT64_C(1) << 62);
	join_finish(c);
}

static void check_attributions(struct world *w)
{
	for (uint32_t i = 0; i < w->operation_count; i++) {
		const struct attribution *a = &w->attributions[i];
		const struct call *truth = &w->calls[a->call], *got;

		EXPECT(&w->random, a->times == 1);
		if (!w->drop_percent)
			EXPECT(&w->random, a->stack == a->call);
		EXPECT(&w->random, a->launched_ns == truth->launched_ns ||
					   (w->drop_percent && a->launched_ns == 0));
		if (a->stack == ORIGIN_UNKNOWN.number)
			continue;
		got = &w->calls[a->stack % NESTED_STACK];
		EXPECT(&w->random, got->process == truth->process && got->tid == truth->tid);
	}
}

static void check_sums(struct world *w, const struct join_stats *s)
{
	uint64_t probes = 0, launches = 0, operations = 0, handed_in = 0, ns = 0, unmatched_ns = 0;

	for (uint32_t i = 0; i < w->delivery_count; i++) {
		probes += w->deliveries[i].kind == PROBE;
		launches += w->deliveries[i].kind == LAUNCH;
		operations += w->deliveries[i].kind == OPERATION;
		if (w->deliveries[i].kind == OPERATION)
			handed_in += w->deliveries[i].duration_ns;
	}
	for (uint32_t i = 0; i < w->operation_count; i++) {
		ns += w->attributions[i].ns;
		if (w->attributions[i].stack == ORIGIN_UNKNOWN.number)
			unmatched_ns += w->attributions[i].ns;
	}
	EXPECT(&w->random, operations == w->operation_count);
	EXPECT(&w->random, ns == handed_in);
	EXPECT(&w->random, s->probes == probes);
	EXPECT(&w->random, s->launches == launches);
	EXPECT(&w->random, s->operations == operations);
	EXPECT(&w->random, s->matched + s->unmatched == operations);
	EXPECT(&w->random, s->unmatched_ns == unmatched_ns);
	/* each probe is either a launch's or left over */
	EXPECT(&w->random, probes - s->probes_unused == launches - s->launches_unprobed);
	if (!w->drop_percent) {
		EXPECT(&w->random, s->unmatched == 0);
		EXPECT(&w->random, s->launches_unprobed == 0);
		EXPECT(&w->random, s->probes_unused == w->nested);
	}
}

static void play_rounds(uint64_t first, uint64_t rounds, bool with_drops, bool shuffled)
{
	struct world *w = malloc(sizeof(*w));
	struct join_output output = {record, NULL};

	assert_non_null(w);
	for (uint64_t i = 0; i < rounds; i++) {
		struct join *c = join_new(&output);
		struct join_stats stats;

		w->random = prng_round(first + i);
		w->shuffled = shuffled;
		w->drop_percent = with_drops ? 1 + (uint32_t)prng_below(&w->random, 60) : 0;
		w->call_count = w->delivery_count = w->operation_count = 0;
		w->nested = 0;
		make_world(w);
		EXPECT(&w->random, w->delivery_count < MAX_DELIVERIES);
		qsort(w->deliveries, w->delivery_count, sizeof(*w->deliveries), by_moment);
		play(w, c);
		stats = join_stats(c);
		check_attributions(w);
		check_sums(w, &stats);
		join_free(c);
	}
	free(w);
}

static uint64_t rounds(void)
{
	return unit_rounds(1500);
}

static void every_operation_gets_its_true_stack(void **state)
{
	(void)state;
	play_rounds(0, rounds(), false, false);
}

static void with_losses_nothing_else_is_lost_or_doubled(void **state)
{
	(void)state;
	play_rounds(0, rounds(), true, false);
}

static void any_order_finds_the_true_stack_with_full_input(void **state)
{
	(void)state;
	play_rounds(0, rounds() / 2, false, true);
}

static void any_order_with_losses(void **state)
{
	(void)state;
	play_rounds(0, rounds() / 2, true, true);
}

/* ---- nonsense ---- */

/* Ids, threads and times from a handful of values, so that all collide: nothing but the sums holds.
 */
static void nonsense_conserves_time(void **state)
{
	(void)state;
	for (uint64_t round = 0; round < rounds(); round++) {
		struct prng p = prng_round(round);
		struct sums sums = {0}, in = {0};
		struct join_output output = {sum_up, &sums};
		struct join *c = join_new(&output);

		for (int i = 0; i < 200; i++) {
			uint32_t process = (uint32_t)prng_below(&p, 2),
				 tid = (uint32_t)prng_below(&p, 3);
			uint32_t id = (uint32_t)prng_below(&p, 5);
			uint64_t time = prng_chance(&p, 80) ? prng_below(&p, 50) : prng_u64(&p);
			enum launch_family family =
				prng_chance(&p, 50) ? FAMILY_RUNTIME : FAMILY_DRIVER;
			struct gpu_operation op = {
				.correlation_id = id, .duration_ns = prng_bits(&p, 40), .name = ""};

			switch (prng_below(&p, 12)) {
			case 0:
				join_advance(c, time);
				break;
			case 1:
				for (uint64_t n = 1 + prng_bits(&p, 7); n > 0; n--)
					join_end_process(c, process);
				break;
			case 2:
			case 3:
			case 4:
				join_probe(c, process, tid, time, family, ORIGIN_ID(id));
				break;
			case 5:
			case 6:
			case 7:
				join_launch(c, process, tid, time, id, family, prng_chance(&p, 20));
				break;
			default:
				join_operation(c, process, &op);
				in.operations++;
				in.ns += op.duration_ns;
				break;
			}
		}
		join_finish(c);
		EXPECT(&p, sums.operations == in.operations && sums.ns == in.ns);
		EXPECT(&p, join_stats(c).matched + join_stats(c).unmatched == in.operations);
		EXPECT(&p, join_stats(c).probes - join_stats(c).probes_unused ==
				   join_stats(c).launches - join_stats(c).launches_unprobed);
		join_free(c);
	}
}

static void nothing_at_all(void **state)
{
	struct join_output output = {sum_up, NULL};
	struct join *c = join_new(&output);

	(void)state;
	join_advance(c, 5);
	join_end_process(c, 5);
	join_finish(c);
	join_free(c);
	join_free(NULL);
}

#define DIRECTED(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		DIRECTED(a_launch_takes_the_probe_before_it),
		DIRECTED(a_probe_at_the_same_time_counts),
		DIRECTED(the_watermark_never_decreases),
		DIRECTED(the_three_inputs_may_come_in_any_order),
		DIRECTED(an_operation_after_the_decision_is_attributed_at_once),
		DIRECTED(a_launch_without_a_probe_has_no_stack),
		DIRECTED(launches_of_a_thread_take_probes_in_order),
		DIRECTED(the_latest_probe_wins),
		DIRECTED(a_probe_serves_one_launch_only),
		DIRECTED(a_runtime_launch_takes_no_driver_probe_from_before_it),
		DIRECTED(a_driver_launch_without_a_driver_probe_takes_a_runtime_probe),
		DIRECTED(other_threads_probes_are_not_taken),
		DIRECTED(inputs_of_a_thread_are_put_in_order),
		DIRECTED(a_nested_driver_probe_is_ignored),
		DIRECTED(a_stripped_runtime_takes_its_nested_driver_probe),
		DIRECTED(the_next_launch_ends_the_wait_for_a_nested_probe),
		DIRECTED(the_next_runtime_probe_is_never_taken_as_nested),
		DIRECTED(a_driver_launch_keeps_its_probe_after_an_unprobed_runtime_launch),
		DIRECTED(stripped_runtime_and_driver_launches_alternate),
		DIRECTED(a_driver_launch_long_after_a_stripped_one_does_not_matter),
		DIRECTED(a_late_driver_probe_is_not_nested),
		DIRECTED(a_graph_launch_has_any_number_of_operations),
		DIRECTED(a_graph_without_operations_is_fine),
		DIRECTED(a_reused_id_means_the_new_launch),
		DIRECTED(an_id_reused_before_the_decision_still_means_the_new_launch),
		DIRECTED(an_id_reused_with_the_same_stack_confuses_nothing),
		DIRECTED(ids_of_two_processes_are_apart),
		DIRECTED(the_largest_ids_are_ordinary),
		DIRECTED(an_operation_is_output_with_its_launchs_time),
		DIRECTED(an_end_decides_all_that_is_pending),
		DIRECTED(an_end_leaves_other_processes_alone),
		DIRECTED(ended_processes_are_forgotten_together),
		DIRECTED(an_end_belongs_to_its_own_launch),
		DIRECTED(an_end_drops_remaining_probes),
		DIRECTED(an_operation_waits_for_its_launch_with_patience),
		DIRECTED(timeout_begins_when_an_operation_is_read),
		DIRECTED(a_launch_after_the_operation_was_given_up_harms_nothing),
		DIRECTED(finish_attributes_everything),
		DIRECTED(work_that_may_be_running_is_found),
		DIRECTED(a_remark_finds_its_launch),
		DIRECTED(launches_without_their_record_are_counted),
		DIRECTED(ended_processes_are_asked_before_they_are_forgotten),
		cmocka_unit_test(the_memory_of_finished_launches_is_bounded),
		cmocka_unit_test(every_operation_gets_its_true_stack),
		cmocka_unit_test(with_losses_nothing_else_is_lost_or_doubled),
		cmocka_unit_test(any_order_finds_the_true_stack_with_full_input),
		cmocka_unit_test(any_order_with_losses),
		cmocka_unit_test(nonsense_conserves_time),
		cmocka_unit_test(nothing_at_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
