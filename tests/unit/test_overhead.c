/* SPDX-License-Identifier: MIT */
/* The library's own CPU time: what is worked counts, what is waited does not. */
#include <pthread.h>
#include <time.h>
#include "unit.h"
#include "cupti_trace/core/guest.h"
#include "cupti_trace/core/overhead.h"

#define MS 1000000u

static uint64_t thread_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Works until the thread has used this CPU time, however busy the machine is. */
static void work(uint64_t ns)
{
	for (uint64_t start = thread_ns(); thread_ns() - start < ns;)
		;
}

static void work_counts_and_waiting_does_not(void **state)
{
	const struct timespec nap = {.tv_nsec = 50 * MS};
	uint64_t before = overhead_ns(), start = thread_ns();
	struct overhead_mark mark = overhead_begin();

	(void)state;
	work(3 * MS);
	nanosleep(&nap, NULL);
	overhead_end(&mark);
	assert_in_range(overhead_ns() - before, 3 * MS, thread_ns() - start);
}

static void a_launch_stands_for_many(void **state)
{
	uint64_t before = overhead_ns(), start = thread_ns(), spent;
	struct overhead_mark mark = overhead_begin(), slow;

	(void)state;
	work(MS);
	/* a part with a measurement of its own is not multiplied */
	slow = overhead_begin();
	work(5 * MS);
	overhead_end(&slow);
	overhead_end_launch(&mark, 200);
	spent = thread_ns() - start;
	/* the clock itself is left out of the launch's millisecond */
	assert_in_range(overhead_ns() - before, 5 * MS + 200 * (MS * 9 / 10),
			5 * MS + 200 * (spent - 5 * MS));
}

static void a_guest_is_measured_once(void **state)
{
	uint64_t before = overhead_ns(), start = thread_ns();
	struct guest outer, inner;

	(void)state;
	guest_enter(&outer);
	guest_enter(&inner);
	work(2 * MS);
	guest_leave(&inner);
	guest_leave(&outer);
	assert_in_range(overhead_ns() - before, 2 * MS, thread_ns() - start);
	before = overhead_ns();
	guest_enter_briefly(&outer);
	guest_enter(&inner);
	work(MS);
	guest_leave(&inner);
	guest_leave(&outer);
	assert_int_equal(overhead_ns(), before);
}

static void threads_begin_everywhere(void **state)
{
	uint32_t seen[OVERHEAD_EVERY] = {0};

	(void)state;
	for (uint32_t tid = 1000; tid < 1000 + 100 * OVERHEAD_EVERY; tid++)
		seen[overhead_first(tid)]++;
	for (uint32_t i = 0; i < OVERHEAD_EVERY; i++)
		assert_in_range(seen[i], 50, 200);
}

static void fewer_are_measured_later(void **state)
{
	const uint32_t seldom = OVERHEAD_EVERY << OVERHEAD_DOUBLED;
	uint32_t measured = 0;

	(void)state;
	for (uint32_t every = OVERHEAD_EVERY; every < seldom; every *= 2)
		for (uint32_t i = 0; i < OVERHEAD_SAMPLES; i++)
			assert_int_equal(overhead_next(measured++), every);
	for (uint32_t i = 0; i < 100000; i++)
		assert_int_equal(overhead_next(measured++), seldom);
	assert_int_equal(overhead_next(UINT32_MAX), seldom);
}

static int set_up(void **state)
{
	(void)state;
	overhead_init();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(work_counts_and_waiting_does_not),
		cmocka_unit_test(a_launch_stands_for_many),
		cmocka_unit_test(a_guest_is_measured_once),
		cmocka_unit_test(threads_begin_everywhere),
		cmocka_unit_test(fewer_are_measured_later),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
