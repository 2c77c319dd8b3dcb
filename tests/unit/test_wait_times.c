/* SPDX-License-Identifier: MIT */
/*
 * Activity of threads while they wait for the GPU: parts of rows with unchanged sums, spread
 * samples, and limits.
 */
#include "unit.h"
#include <stdlib.h>
#include "cupti_trace/wire/gpu_work.h"
#include "profiler/addons/wait_times.h"

#define TIMES 64u /* number of times kept */
#define PROCESS 3
#define THREAD 30
#define PLACE 2

struct bench {
	struct stack_table *stacks;
	struct gpu_stacks gpu_stacks;
	struct profile *profile;
	struct wait_times w;
	struct stack_id poll, futex, code, launch;
	struct gpu_work_origin kernel;
};

static int setup(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));

	b->stacks = stack_table_new();
	b->profile = profile_new();
	gpu_stack_init(&b->gpu_stacks, b->stacks);
	b->w = (struct wait_times){
		.profile = b->profile, .gpu_stacks = &b->gpu_stacks, .most = TIMES};
	b->poll = stack_table_push_text(b->stacks, STACK_EMPTY, FRAME_MARK, "poll");
	b->futex = stack_table_push_text(b->stacks, STACK_EMPTY, FRAME_MARK, "futex");
	b->code = stack_table_push_text(b->stacks, STACK_EMPTY, FRAME_MARK, "code");
	b->launch = stack_table_push_text(b->stacks, STACK_EMPTY, FRAME_API, "launch");
	b->kernel = (struct gpu_work_origin){.launch = {b->launch.number},
					     .capture = CAPTURE_NONE,
					     .work = GPU_WORK_KERNEL,
					     .name = "kernel"};
	*state = b;
	return 0;
}

static int teardown(void **state)
{
	struct bench *b = *state;

	wait_times_release(&b->w);
	profile_free(b->profile);
	gpu_stack_release(&b->gpu_stacks);
	stack_table_free(b->stacks);
	free(b);
	return 0;
}

static void blocked(struct bench *b, uint32_t tid, struct stack_id stack, uint64_t from,
		    uint64_t to)
{
	profile_add(b->profile, ROW_WAIT, stack, PLACE_ID(PLACE), to - from, 0);
	wait_times_add(&b->w, &(struct thread_time){.start_ns = from,
						    .end_ns = to,
						    .ns = to - from,
						    .process = PROCESS,
						    .tid = tid,
						    .kind = ROW_WAIT,
						    .stack = stack,
						    .place = {PLACE}});
}

static void sampled(struct bench *b, uint64_t at, uint64_t ns)
{
	profile_add(b->profile, ROW_CPU, b->code, PLACE_ID(PLACE), ns, 0);
	wait_times_add(&b->w, &(struct thread_time){.start_ns = at,
						    .end_ns = at,
						    .ns = ns,
						    .process = PROCESS,
						    .tid = THREAD,
						    .kind = ROW_CPU,
						    .stack = b->code,
						    .place = {PLACE}});
}

static void waited(struct bench *b, uint64_t start, uint64_t from, uint64_t to, bool ran)
{
	wait_times_split(
		&b->w,
		&(struct waits_wait){
			.start_ns = start, .end_ns = 1000, .process = PROCESS, .tid = THREAD},
		ran ? &b->kernel : NULL, from, to - from);
}

static struct profile_row row_of(const struct bench *b, enum row_kind kind, struct stack_id stack)
{
	uint32_t count;
	const struct profile_row *rows = profile_rows(b->profile, &count);

	for (uint32_t i = 0; i < count; i++)
		if (rows[i].kind == kind && same_id(rows[i].stack, stack))
			return rows[i];
	return (struct profile_row){0};
}

static void expect_row(struct bench *b, enum row_kind kind, struct stack_id stack, uint64_t count,
		       uint64_t ns)
{
	struct profile_row row = row_of(b, kind, stack);

	assert_int_equal(row.ns, ns);
	assert_int_equal(row.count, count);
}

static struct stack_id below(struct bench *b, struct stack_id stack, bool spins, bool ran)
{
	return gpu_stack_wait(&b->gpu_stacks, stack, spins, ran ? &b->kernel : NULL);
}

static void what_lies_in_a_wait_is_split(void **state)
{
	struct bench *b = *state;

	blocked(b, THREAD, b->futex, 10, 90);   /* before the wait */
	blocked(b, THREAD, b->poll, 150, 400);  /* inside the wait */
	blocked(b, THREAD, b->poll, 500, 1100); /* partly */
	blocked(b, THREAD + 1, b->poll, 150, 400);
	waited(b, 100, 900, 1000, false);
	waited(b, 100, 300, 900, true);
	waited(b, 100, 100, 300, false);
	expect_row(b, ROW_WAIT, b->futex, 1, 80);
	expect_row(b, ROW_WAIT, b->poll, 1, 100 + 250);
	expect_row(b, ROW_WAIT, below(b, b->poll, false, true), 2, 100 + 400);
	expect_row(b, ROW_WAIT, below(b, b->poll, false, false), 0, 150 + 100);
	/* a second wait for this time finds nothing left */
	waited(b, 100, 100, 450, true);
	expect_row(b, ROW_WAIT, below(b, b->poll, false, true), 2, 100 + 400);
	assert_int_equal(b->w.cut, 0);
}

static void samples_belong_to_their_moment(void **state)
{
	struct bench *b = *state;

	sampled(b, 99, 20);
	sampled(b, 100, 20);
	sampled(b, 250, 20);
	sampled(b, 300, 30);
	waited(b, 100, 300, 400, false);
	waited(b, 100, 100, 300, true);
	/* the last one computes: nothing ran that it could spin for */
	expect_row(b, ROW_CPU, b->code, 2, 20 + 30);
	expect_row(b, ROW_CPU, below(b, b->code, true, true), 2, 40);
	expect_row(b, ROW_CPU, below(b, b->code, true, false), 0, 0);
}

static void what_was_spread_is_split_alike(void **state)
{
	struct bench *b = *state;

	blocked(b, THREAD, b->poll, 100, 200);
	blocked(b, THREAD, b->futex, 200, 300);
	profile_add(b->profile, ROW_WAIT, b->poll, PLACE_ID(PLACE), 1001, 0);
	wait_times_spread(&b->w, b->poll, PLACE_ID(PLACE), 1001);
	profile_add(b->profile, ROW_WAIT, b->launch, PLACE_ID(PLACE), 7, 0);
	wait_times_spread(&b->w, b->launch, PLACE_ID(PLACE), 7);
	waited(b, 100, 175, 190, false);
	waited(b, 100, 100, 175, true);
	wait_times_finish(&b->w);
	expect_row(b, ROW_WAIT, below(b, b->poll, false, true), 1, 75 + 750);
	expect_row(b, ROW_WAIT, below(b, b->poll, false, false), 0, 15 + 150);
	expect_row(b, ROW_WAIT, b->poll, 1, 10 + 101); /* from the spread one */
	expect_row(b, ROW_WAIT, b->futex, 1, 100);
	expect_row(b, ROW_WAIT, b->launch, 1, 7);
}

static void the_oldest_times_are_forgotten_and_their_waits_counted(void **state)
{
	struct bench *b = *state;
	const uint64_t step = UINT64_C(10000000000);

	for (uint64_t i = 1; i <= TIMES + 1; i++)
		blocked(b, THREAD, b->poll, i * step, i * step + 5);
	assert_true(b->w.count <= TIMES / 2 + 1);
	waited(b, step, step, step + 5, true);
	assert_int_equal(b->w.cut, 1);
	expect_row(b, ROW_WAIT, below(b, b->poll, false, true), 0, 0);
	waited(b, TIMES * step, TIMES * step, TIMES * step + 5, true);
	assert_int_equal(b->w.cut, 1);
	expect_row(b, ROW_WAIT, below(b, b->poll, false, true), 1, 5);
}

/* A process may say that it waits all the time, over and over. */
static void steps_are_bounded(void **state)
{
	struct bench *b = *state;

	for (uint64_t i = 0; i < TIMES / 2; i++)
		blocked(b, THREAD, b->poll, 100 + 2 * i, 101 + 2 * i);
	for (uint64_t i = 0; i < 100; i++)
		waited(b, i, 100, 1000, true);
	assert_true(b->w.cut > 90);
	assert_int_equal(b->w.steps_left, 0);
	expect_row(b, ROW_WAIT, b->poll, 0, 0);
	expect_row(b, ROW_WAIT, below(b, b->poll, false, true), TIMES / 2, TIMES / 2);
}

static void without_memory_times_stay_where_they_are(void **state)
{
	struct bench *b = *state;
	struct quota none = {.limit = 0};

	b->w.memory = &none;
	blocked(b, THREAD, b->poll, 150, 400);
	wait_times_spread(&b->w, b->poll, PLACE_ID(PLACE), 10);
	waited(b, 100, 100, 1000, true);
	wait_times_finish(&b->w);
	assert_int_equal(row_of(b, ROW_WAIT, b->poll).ns +
				 row_of(b, ROW_WAIT, below(b, b->poll, false, true)).ns,
			 250);
}

/* A row of which some times did not count is not divided by those alone. */
static void what_was_spread_is_split_alike_after_a_lack_of_memory(void **state)
{
	struct bench *b = *state;
	struct quota memory = {.limit = 0};

	b->w.memory = &memory;
	blocked(b, THREAD, b->poll, 100, 200);
	memory.limit = 1 << 20;
	profile_add(b->profile, ROW_WAIT, b->poll, PLACE_ID(PLACE), 1000, 0);
	wait_times_spread(&b->w, b->poll, PLACE_ID(PLACE), 1000);
	waited(b, 100, 100, 200, true);
	wait_times_finish(&b->w);
	assert_int_equal(row_of(b, ROW_WAIT, b->poll).ns +
				 row_of(b, ROW_WAIT, below(b, b->poll, false, true)).ns,
			 1100);
	assert_int_equal(b->w.cut, 1);
}

/* Graphs have many nodes; each that ran is a piece of the wait for all of them. */
static void pieces_of_one_time_take_no_steps(void **state)
{
	struct bench *b = *state;

	blocked(b, THREAD, b->poll, 50, 1000);
	for (uint64_t at = 1000; at > 100; at--)
		waited(b, 100, at - 1, at, at % 2);
	assert_int_equal(b->w.cut, 0);
	expect_row(b, ROW_WAIT, b->poll, 0, 50);
	expect_row(b, ROW_WAIT, below(b, b->poll, false, true), 1, 450);
	expect_row(b, ROW_WAIT, below(b, b->poll, false, false), 0, 450);
}

static void a_wait_that_is_cut_is_counted_once(void **state)
{
	struct bench *b = *state;

	for (uint64_t i = 0; i < TIMES / 2; i++)
		blocked(b, THREAD, b->poll, 100 + 2 * i, 101 + 2 * i);
	for (int i = 0; i < 10; i++)
		waited(b, 100, 100, 1000, true);
	b->w.cut = 0;
	waited(b, 90, 500, 1000, true);
	waited(b, 90, 130, 500, false);
	waited(b, 90, 110, 130, true);
	waited(b, 90, 90, 110, true);
	assert_int_equal(b->w.cut, 1);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(what_lies_in_a_wait_is_split),
		TEST(samples_belong_to_their_moment),
		TEST(what_was_spread_is_split_alike),
		TEST(the_oldest_times_are_forgotten_and_their_waits_counted),
		TEST(steps_are_bounded),
		TEST(without_memory_times_stay_where_they_are),
		TEST(what_was_spread_is_split_alike_after_a_lack_of_memory),
		TEST(pieces_of_one_time_take_no_steps),
		TEST(a_wait_that_is_cut_is_counted_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
