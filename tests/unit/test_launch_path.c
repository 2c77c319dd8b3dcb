/* SPDX-License-Identifier: MIT */
#include "cupti_trace/launch_path.h"

#include <string.h>
#include "unit.h"

/*
 * Return addresses: 1xx of CUPTI and the driver, 2xx of libcudart, 3xx of the program. libcudart
 * goes through 202 while callbacks of the runtime are on, and through 203 while they are off.
 */
static const char launch[] = "cudaLaunchKernel", launch_ex[] = "cudaLaunchKernelExC",
		  in_driver[] = "cuLaunchKernel";
static uint64_t now = 1;

#define COUNT(array) (uint32_t)(sizeof(array) / sizeof((array)[0]))
#define LEARN(function, runtime, driver) \
	launch_path_learn(function, runtime, COUNT(runtime), driver, COUNT(driver), now)

static const uint64_t runtime[] = {101, 201, 301, 302, 303};
static const uint64_t driver[] = {111, 112, 202, 301, 302, 303};
static const uint64_t driver_off[] = {111, 112, 203, 301, 302, 303};

static int set_up(void **state)
{
	(void)state;
	launch_path_forget();
	launch_path_runtime_is(true, now);
	now += LAUNCH_PATH_UNDER_WAY_NS;
	return 0;
}

/* Until nothing is under way, and for as long as it takes. */
static void let_pass(void)
{
	now += LAUNCH_PATH_QUIET_NS;
	launch_path_launched(LAUNCH_PATH_QUIET_LAUNCHES);
}

static void turn_off(void)
{
	let_pass();
	assert_false(launch_path_wants_runtime(now));
	launch_path_runtime_is(false, now);
}

/* The stack becomes that of `function`, `expected`; NULL: it stays. */
static void expect_replaced(const uint64_t *stack, uint32_t count, const char *function,
			    const uint64_t *expected, uint32_t expected_count)
{
	const char *was = in_driver;
	uint64_t pcs[16];
	uint32_t n = count;

	memcpy(pcs, stack, count * sizeof(*pcs));
	assert_int_equal(launch_path_replace(pcs, NULL, &n, 16, 0, &was), function != NULL);
	if (!function) {
		assert_ptr_equal(was, in_driver);
		expected = stack;
		expected_count = count;
	} else {
		assert_ptr_equal(was, function);
	}
	assert_int_equal(n, expected_count);
	assert_memory_equal(pcs, expected, expected_count * sizeof(*pcs));
}
#define EXPECT_REPLACED(stack, function, expected) \
	expect_replaced(stack, COUNT(stack), function, expected, COUNT(expected))
#define EXPECT_KEPT(stack) expect_replaced(stack, COUNT(stack), NULL, NULL, 0)

static void on_until_nothing_new_was_seen_for_a_while(void **state)
{
	static const uint64_t other_runtime[] = {101, 204, 305, 303};
	static const uint64_t other_driver[] = {111, 112, 205, 305, 303};

	(void)state;
	now += 10 * LAUNCH_PATH_QUIET_NS;
	assert_true(launch_path_wants_runtime(now)); /* no way is known */
	LEARN(launch, runtime, driver);
	assert_int_equal(launch_path_count(), 1);
	assert_true(launch_path_wants_runtime(now));
	launch_path_launched(LAUNCH_PATH_QUIET_LAUNCHES);
	now += LAUNCH_PATH_QUIET_NS - 1;
	assert_true(launch_path_wants_runtime(now));
	/* known: nothing new */
	LEARN(launch, runtime, driver);
	assert_false(launch_path_wants_runtime(now + 1));
	/* new */
	LEARN(launch_ex, other_runtime, other_driver);
	assert_int_equal(launch_path_count(), 2);
	launch_path_launched(LAUNCH_PATH_QUIET_LAUNCHES - 1);
	assert_true(launch_path_wants_runtime(now + LAUNCH_PATH_QUIET_NS));
	launch_path_launched(1);
	assert_true(launch_path_wants_runtime(now + LAUNCH_PATH_QUIET_NS - 1));
	assert_false(launch_path_wants_runtime(now + LAUNCH_PATH_QUIET_NS));
	turn_off();
	now += 100 * LAUNCH_PATH_QUIET_NS;
	assert_false(launch_path_wants_runtime(now));
}

static void a_known_user_stack_shows_the_path_of_all_others(void **state)
{
	static const uint64_t unseen[] = {111, 112, 203, 333, 334};
	static const uint64_t made[] = {101, 201, 333, 334};

	(void)state;
	LEARN(launch, runtime, driver);
	turn_off();
	EXPECT_KEPT(unseen); /* its path is not known yet */
	EXPECT_REPLACED(driver_off, launch, runtime);
	EXPECT_REPLACED(unseen, launch, made);
	EXPECT_REPLACED(driver_off, launch, runtime);
}

static void stack_pointers_keep_their_order(void **state)
{
	uint64_t pcs[16], sps[16] = {1000, 1100, 1200, 1300, 1400, 1500};
	const char *function = in_driver;
	uint32_t count = COUNT(driver_off);

	(void)state;
	LEARN(launch, runtime, driver);
	memcpy(pcs, driver_off, sizeof(driver_off));
	assert_true(launch_path_replace(pcs, sps, &count, 16, 0, &function));
	assert_int_equal(count, 5);
	/* the program's own keep theirs; what is inside is inside */
	assert_int_equal(sps[2], 1300);
	assert_int_equal(sps[3], 1400);
	assert_int_equal(sps[4], 1500);
	assert_true(sps[0] < sps[1] && sps[1] < sps[2] && sps[0] > 1200);
}

static void behind_frames_of_this_library(void **state)
{
	uint64_t pcs[16] = {1, 2, 111, 112, 203, 333};
	static const uint64_t expected[] = {1, 2, 101, 201, 333};
	const char *function = in_driver;
	uint32_t count = 6;

	(void)state;
	LEARN(launch, runtime, driver);
	EXPECT_REPLACED(driver_off, launch, runtime);
	assert_true(launch_path_replace(pcs, NULL, &count, 16, 2, &function));
	assert_int_equal(count, 5);
	assert_memory_equal(pcs, expected, sizeof(expected));
}

static void other_stacks_stay(void **state)
{
	static const uint64_t elsewhere[] = {111, 112, 204, 333, 334};
	static const uint64_t direct[] = {111, 112, 333, 334, 335};
	static const uint64_t shifted[] = {112, 203, 333, 334};
	static const uint64_t outer_part[] = {111, 112, 333, 302, 303};

	(void)state;
	LEARN(launch, runtime, driver);
	EXPECT_REPLACED(driver_off, launch, runtime);
	EXPECT_KEPT(elsewhere); /* another way through libcudart */
	EXPECT_KEPT(direct);    /* the driver is called by the program */
	EXPECT_KEPT(shifted);
	EXPECT_KEPT(outer_part); /* a caller of a known user stack is not that stack */
	/* a path alone, with nothing of the program outside of it */
	for (uint32_t count = 0; count <= 3; count++)
		expect_replaced(driver_off, count, NULL, NULL, 0);
}

/* A way may be longer than the path, and the stack as deep as may be. */
static void a_deep_stack_is_cut_at_its_outer_end(void **state)
{
	static const uint64_t long_runtime[] = {101, 102, 103, 104, 301};
	static const uint64_t short_driver[] = {111, 301};
	uint64_t pcs[4] = {111, 331, 332, 333};
	uint64_t sps[4] = {10000, 20000, 30000, 40000};
	static const uint64_t expected[] = {101, 102, 103, 104};
	const char *function = in_driver;
	uint32_t count = 4;

	(void)state;
	LEARN(launch, long_runtime, short_driver);
	EXPECT_REPLACED(short_driver, launch, long_runtime);
	assert_true(launch_path_replace(pcs, sps, &count, 4, 0, &function));
	assert_int_equal(count, 4);
	assert_memory_equal(pcs, expected, sizeof(expected));
}

static void the_longest_path_counts(void **state)
{
	static const uint64_t outer_runtime[] = {101, 209, 301};
	static const uint64_t outer_driver[] = {111, 112, 203, 206, 301};
	static const uint64_t unseen[] = {111, 112, 203, 206, 333};
	static const uint64_t made[] = {101, 209, 333};

	(void)state;
	LEARN(launch, runtime, driver);
	LEARN(launch_ex, outer_runtime, outer_driver);
	EXPECT_REPLACED(driver_off, launch, runtime);
	EXPECT_REPLACED(outer_driver, launch_ex, outer_runtime);
	EXPECT_REPLACED(unseen, launch_ex, made);
}

static void calls_of_the_driver_are_known_while_all_is_seen(void **state)
{
	(void)state;
	LEARN(launch, runtime, driver);
	assert_true(launch_path_is_direct(341, now));
	turn_off();
	assert_true(launch_path_is_direct(341, now));
	assert_false(launch_path_wants_runtime(now));
	/* a place that was not seen: the runtime's are needed, until nothing new comes */
	assert_false(launch_path_is_direct(342, now));
	assert_true(launch_path_wants_runtime(now));
	assert_false(launch_path_is_direct(342, now));
	launch_path_runtime_is(true, now);
	/* a launch that was under way may be in a call of the runtime */
	assert_false(launch_path_is_direct(342, now));
	now += LAUNCH_PATH_UNDER_WAY_NS;
	assert_true(launch_path_is_direct(342, now));
	turn_off();
	assert_true(launch_path_is_direct(342, now));
}

/* An indirect call, of either. */
static void a_place_that_calls_both_shows_no_path(void **state)
{
	(void)state;
	assert_true(launch_path_is_direct(301, now));
	LEARN(launch, runtime, driver);
	assert_int_equal(launch_path_count(), 0);
	EXPECT_KEPT(driver_off);
}

static void code_that_was_unmapped_is_forgotten(void **state)
{
	(void)state;
	LEARN(launch, runtime, driver);
	EXPECT_REPLACED(driver_off, launch, runtime);
	assert_true(launch_path_is_direct(341, now));
	turn_off();
	launch_path_forget();
	assert_true(launch_path_wants_runtime(now));
	EXPECT_KEPT(driver_off);
	assert_false(launch_path_is_direct(341, now));
}

/* What follows cannot be undone: each in a process of its own. */
#define IN_CHILD(body) in_child(body, #body)
static void in_child(void (*body)(void), const char *name)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		body();
		now += 100 * LAUNCH_PATH_QUIET_NS;
		_exit(launch_path_wants_runtime(now) ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	if (status != 0)
		fail_msg("%s: status %d", name, status);
}

static void miss_the_driver(void)
{
	LEARN(launch, runtime, driver);
	launch_path_is_missing();
}

/* Of two functions, which both look the same in the driver. */
static void meet_two_ways(void)
{
	static const uint64_t other[] = {101, 207, 304, 303};
	static const uint64_t in_other[] = {111, 112, 203, 304, 303};
	const char *function;
	uint64_t pcs[8];
	uint32_t count;

	LEARN(launch, runtime, driver);
	LEARN(launch_ex, other, in_other);
	for (int i = 0; i < 2; i++) {
		count = i ? COUNT(in_other) : COUNT(driver_off);
		memcpy(pcs, i ? in_other : driver_off, count * sizeof(*pcs));
		launch_path_replace(pcs, NULL, &count, 8, 0, &function);
	}
}

static void meet_too_many(void)
{
	for (uint64_t i = 0; i <= LAUNCH_PATHS_MAX; i++) {
		uint64_t seen[] = {101, 1000 + i, 303};

		LEARN(launch, seen, driver);
	}
	assert_int_equal(launch_path_count(), LAUNCH_PATHS_MAX);
}

static void meet_a_long_one(void)
{
	uint64_t seen[LAUNCH_PATH_FRAMES + 2];

	for (uint64_t i = 0; i < LAUNCH_PATH_FRAMES + 2; i++)
		seen[i] = 1000 + i;
	seen[LAUNCH_PATH_FRAMES + 1] = 303;
	LEARN(launch, runtime, driver);
	LEARN(launch, seen, driver);
}

static void meet_many_places(void)
{
	LEARN(launch, runtime, driver);
	for (uint64_t i = 0; i <= LAUNCH_PATH_DIRECT; i++)
		launch_path_is_direct(1000 + i, now);
}

static void come_back_often(void)
{
	LEARN(launch, runtime, driver);
	for (uint64_t i = 0; i < LAUNCH_PATH_RETURNS; i++) {
		let_pass();
		launch_path_runtime_is(false, now);
		launch_path_is_direct(1000 + i, now);
		launch_path_runtime_is(true, now);
	}
}

static void stays_on_where_it_would_be_wrong_or_in_vain(void **state)
{
	(void)state;
	IN_CHILD(miss_the_driver);
	IN_CHILD(meet_two_ways);
	IN_CHILD(meet_too_many);
	IN_CHILD(meet_a_long_one);
	IN_CHILD(meet_many_places);
	IN_CHILD(come_back_often);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(on_until_nothing_new_was_seen_for_a_while, set_up),
		cmocka_unit_test_setup(a_known_user_stack_shows_the_path_of_all_others, set_up),
		cmocka_unit_test_setup(stack_pointers_keep_their_order, set_up),
		cmocka_unit_test_setup(behind_frames_of_this_library, set_up),
		cmocka_unit_test_setup(other_stacks_stay, set_up),
		cmocka_unit_test_setup(a_deep_stack_is_cut_at_its_outer_end, set_up),
		cmocka_unit_test_setup(the_longest_path_counts, set_up),
		cmocka_unit_test_setup(calls_of_the_driver_are_known_while_all_is_seen, set_up),
		cmocka_unit_test_setup(a_place_that_calls_both_shows_no_path, set_up),
		cmocka_unit_test_setup(code_that_was_unmapped_is_forgotten, set_up),
		cmocka_unit_test_setup(stays_on_where_it_would_be_wrong_or_in_vain, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
