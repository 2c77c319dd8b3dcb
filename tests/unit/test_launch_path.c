/* SPDX-License-Identifier: MIT */
#include "cupti_trace/launch_path.h"

#include <string.h>
#include "unit.h"

/*
 * Return addresses: 1xx of CUPTI and the driver, 2xx of libcudart, 3xx of the program. Functions
 * are told apart by their address.
 */
static const char launch[] = "cudaLaunchKernel", launch_ex[] = "cudaLaunchKernelExC",
		  in_driver[] = "cuLaunchKernel";
static uint64_t now = 1;

#define LEARN(function, runtime, driver)                                                       \
	launch_path_learn(function, runtime, sizeof(runtime) / sizeof(runtime[0]), driver,     \
			  sizeof(driver) / sizeof(driver[0]), now)

static const uint64_t runtime[] = {101, 201, 301, 302, 303};
static const uint64_t driver[] = {111, 112, 202, 203, 301, 302, 303};

static int set_up(void **state)
{
	(void)state;
	launch_path_forget();
	launch_path_runtime_is(true, now);
	return 0;
}

static void turn_off(void)
{
	now += LAUNCH_PATH_QUIET_NS;
	assert_false(launch_path_wants_runtime(now));
	launch_path_runtime_is(false, now);
}

static void on_until_nothing_new_was_seen_for_a_while(void **state)
{
	static const uint64_t other_runtime[] = {101, 204, 305, 303};
	static const uint64_t other_driver[] = {111, 112, 205, 203, 305, 303};

	(void)state;
	now += 10 * LAUNCH_PATH_QUIET_NS;
	assert_true(launch_path_wants_runtime(now)); /* no way is known */
	LEARN(launch, runtime, driver);
	assert_int_equal(launch_path_count(), 1);
	assert_true(launch_path_wants_runtime(now));
	now += LAUNCH_PATH_QUIET_NS - 1;
	assert_true(launch_path_wants_runtime(now));
	/* known: nothing new */
	LEARN(launch, runtime, driver);
	assert_false(launch_path_wants_runtime(now + 1));
	/* new */
	LEARN(launch_ex, other_runtime, other_driver);
	assert_int_equal(launch_path_count(), 2);
	assert_true(launch_path_wants_runtime(now + LAUNCH_PATH_QUIET_NS - 1));
	assert_false(launch_path_wants_runtime(now + LAUNCH_PATH_QUIET_NS));
	turn_off();
	now += 100 * LAUNCH_PATH_QUIET_NS;
	assert_false(launch_path_wants_runtime(now));
}

static void a_stack_becomes_the_runtimes(void **state)
{
	uint64_t pcs[16] = {111, 112, 202, 203, 333, 334};
	uint64_t sps[16] = {1000, 1100, 1200, 1300, 1400, 1500};
	static const uint64_t expected[] = {101, 201, 333, 334};
	const char *function = in_driver;
	uint32_t count = 6;

	(void)state;
	LEARN(launch, runtime, driver);
	assert_true(launch_path_replace(pcs, sps, &count, 16, &function));
	assert_ptr_equal(function, launch);
	assert_int_equal(count, 4);
	assert_memory_equal(pcs, expected, sizeof(expected));
	/* the program's own keep theirs; what is inside is inside */
	assert_int_equal(sps[2], 1400);
	assert_int_equal(sps[3], 1500);
	assert_true(sps[0] < sps[1] && sps[1] < sps[2] && sps[0] > 1300);
}

static void behind_frames_of_this_library(void **state)
{
	uint64_t pcs[16] = {1, 2, 111, 112, 202, 203, 333};
	static const uint64_t expected[] = {1, 2, 101, 201, 333};
	const char *function = in_driver;
	uint32_t count = 7;

	(void)state;
	LEARN(launch, runtime, driver);
	assert_true(launch_path_replace(pcs, NULL, &count, 16, &function));
	assert_int_equal(count, 5);
	assert_memory_equal(pcs, expected, sizeof(expected));
}

static void other_stacks_stay(void **state)
{
	static const uint64_t others[][6] = {
		{111, 112, 202, 204, 333, 334}, /* another way through libcudart */
		{111, 112, 333, 334, 335, 336}, /* the driver is called by the program */
		{112, 202, 203, 333, 334, 335},
	};
	const char *function = in_driver;

	(void)state;
	LEARN(launch, runtime, driver);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		uint64_t pcs[6];
		uint32_t count = 6;

		memcpy(pcs, others[i], sizeof(pcs));
		assert_false(launch_path_replace(pcs, NULL, &count, 6, &function));
		assert_memory_equal(pcs, others[i], sizeof(pcs));
		assert_int_equal(count, 6);
		assert_ptr_equal(function, in_driver);
	}
	/* a way alone, with nothing of the program outside of it, is none */
	for (uint32_t count = 0; count <= 4; count++) {
		uint64_t pcs[4] = {111, 112, 202, 203};
		uint32_t n = count;

		assert_false(launch_path_replace(pcs, NULL, &n, 4, &function));
	}
}

/* The runtime's side may be the longer one, and the stack as deep as may be. */
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
	assert_true(launch_path_replace(pcs, sps, &count, 4, &function));
	assert_int_equal(count, 4);
	assert_memory_equal(pcs, expected, sizeof(expected));
}

static void the_longest_way_counts(void **state)
{
	static const uint64_t outer_runtime[] = {101, 209, 301};
	static const uint64_t outer_driver[] = {111, 112, 202, 203, 206, 301};
	uint64_t pcs[8] = {111, 112, 202, 203, 206, 333};
	const char *function = in_driver;
	uint32_t count = 6;

	(void)state;
	LEARN(launch, runtime, driver);
	LEARN(launch_ex, outer_runtime, outer_driver);
	assert_true(launch_path_replace(pcs, NULL, &count, 8, &function));
	assert_ptr_equal(function, launch_ex);
	assert_int_equal(pcs[1], 209);
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
	assert_true(launch_path_is_direct(342, now));
	turn_off();
	assert_true(launch_path_is_direct(342, now));
}

static void code_that_was_unmapped_is_forgotten(void **state)
{
	uint64_t pcs[8] = {111, 112, 202, 203, 333};
	const char *function = in_driver;
	uint32_t count = 5;

	(void)state;
	LEARN(launch, runtime, driver);
	assert_true(launch_path_is_direct(341, now));
	turn_off();
	launch_path_forget();
	assert_true(launch_path_wants_runtime(now));
	assert_false(launch_path_replace(pcs, NULL, &count, 8, &function));
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

static void meet_two_functions(void)
{
	LEARN(launch, runtime, driver);
	LEARN(launch_ex, runtime, driver);
}

static void meet_two_stacks(void)
{
	static const uint64_t other[] = {101, 207, 301, 302, 303};

	LEARN(launch, runtime, driver);
	LEARN(launch, other, driver);
}

static void meet_too_many(void)
{
	for (uint64_t i = 0; i <= LAUNCH_PATHS_MAX; i++) {
		uint64_t seen[] = {111, 1000 + i, 301};

		LEARN(launch, runtime, seen);
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
	LEARN(launch, runtime, seen);
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
		now += LAUNCH_PATH_QUIET_NS;
		launch_path_runtime_is(false, now);
		launch_path_is_direct(1000 + i, now);
		launch_path_runtime_is(true, now);
	}
}

static void stays_on_where_it_would_be_wrong_or_in_vain(void **state)
{
	(void)state;
	IN_CHILD(miss_the_driver);
	IN_CHILD(meet_two_functions);
	IN_CHILD(meet_two_stacks);
	IN_CHILD(meet_too_many);
	IN_CHILD(meet_a_long_one);
	IN_CHILD(meet_many_places);
	IN_CHILD(come_back_often);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(on_until_nothing_new_was_seen_for_a_while, set_up),
		cmocka_unit_test_setup(a_stack_becomes_the_runtimes, set_up),
		cmocka_unit_test_setup(behind_frames_of_this_library, set_up),
		cmocka_unit_test_setup(other_stacks_stay, set_up),
		cmocka_unit_test_setup(a_deep_stack_is_cut_at_its_outer_end, set_up),
		cmocka_unit_test_setup(the_longest_way_counts, set_up),
		cmocka_unit_test_setup(calls_of_the_driver_are_known_while_all_is_seen, set_up),
		cmocka_unit_test_setup(code_that_was_unmapped_is_forgotten, set_up),
		cmocka_unit_test_setup(stays_on_where_it_would_be_wrong_or_in_vain, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
