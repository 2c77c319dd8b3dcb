/* SPDX-License-Identifier: MIT */
/*
 * Samplers of threads: a new thread begins as one that has ended left off; they are freed with
 * their threads (leak checkers see that); a launch within a launch is taken.
 */
#include <pthread.h>
#include "unit.h"
#include "cupti_trace/launch/stack_sampling.h"

static uint32_t stands_for, taken;

/* Launches in a loop, whose stacks take longer than they may. */
static void *launch_fast(void *count)
{
	bool is_timed;

	taken = 0;
	for (uint32_t i = 0; i < *(uint32_t *)count; i++) {
		stands_for = stack_sampling_choose(7, &is_timed);
		assert_true(stands_for > 0 || !is_timed);
		taken += stands_for > 0;
		if (is_timed)
			stack_sampling_spent(50000);
	}
	return NULL;
}

static void in_a_thread(void *(*run)(void *), uint32_t count)
{
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, run, &count), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
}

static void threads_learn_from_those_before(void **state)
{
	uint32_t all = 0;

	(void)state;
	stack_sampling_init(100); /* 0.1 % */
	in_a_thread(launch_fast, 10);
	assert_int_equal(taken, 10); /* nothing is known, and these are too few */
	in_a_thread(launch_fast, 100);
	assert_int_equal(taken, 100); /* nothing was known */
	in_a_thread(launch_fast, 100);
	assert_in_range(taken, 1, 30); /* the first for certain */
	in_a_thread(launch_fast, 1);
	assert_int_equal(taken, 1);
	for (uint32_t i = 0; i < 200; i++) {
		in_a_thread(launch_fast, 20);
		all += taken;
	}
	assert_in_range(all, 200, 200 * 4);
}

/* Launches once per tick, after fast launches. Stacks cost nothing then, so each launch has one. */
static void *launch_slowly(void *count)
{
	bool is_timed;

	launch_fast(count);
	for (uint32_t i = 0; i < 30; i++) {
		usleep(1000);
		stack_sampling_tick();
		stands_for = stack_sampling_choose(7, &is_timed);
		if (is_timed)
			stack_sampling_spent(1);
	}
	return NULL;
}

static void a_tick_ends_a_time_range(void **state)
{
	(void)state;
	stack_sampling_init(100000); /* 100 % */
	in_a_thread(launch_slowly, 1000);
	assert_int_equal(stands_for, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_learn_from_those_before),
		cmocka_unit_test(a_tick_ends_a_time_range),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
