/* SPDX-License-Identifier: MIT */
/* Times in which measured kernels ran. */
#include <math.h>
#include "unit.h"
#include "cupti_trace/hw/counted_times.h"

static uint64_t start, duration;

static enum counted_time find(uint32_t correlation_id)
{
	return counted_times_find(correlation_id, &start, &duration);
}

static void it_ends_when_the_call_returned(void **state)
{
	const double ns = 1000.4;

	(void)state;
	assert_int_equal(find(7), COUNTED_NONE);
	counted_times_begin(7);
	assert_int_equal(find(7), COUNTED_PENDING);
	counted_times_end(7, &ns, 50000, 90000);
	assert_int_equal(find(7), COUNTED_KNOWN);
	assert_int_equal(start, 89000);
	assert_int_equal(duration, 1000);
}

static void it_does_not_begin_before_the_call(void **state)
{
	const double ns = 1e300;

	(void)state;
	counted_times_end(8, &ns, 50000, 90000);
	assert_int_equal(find(8), COUNTED_KNOWN);
	assert_int_equal(start, 50000);
	assert_int_equal(duration, 40000);
}

static void what_is_not_known_is_not_found(void **state)
{
	const double none = NAN, negative = -1, ns = 10;

	(void)state;
	start = duration = 1;
	counted_times_begin(9);
	counted_times_end(9, &none, 0, 100);
	assert_int_equal(find(9), COUNTED_NONE);
	counted_times_end(10, &negative, 0, 100);
	assert_int_equal(find(10), COUNTED_NONE);
	assert_int_equal(find(0), COUNTED_NONE);
	counted_times_end(11, &ns, 0, 100);
	counted_times_begin(11 + COUNTED_TIMES_KEPT);
	assert_int_equal(find(11), COUNTED_NONE);
	assert_int_equal(start + duration, 2);
	counted_times_end(11 + COUNTED_TIMES_KEPT, &ns, 0, 200);
	assert_int_equal(find(11 + COUNTED_TIMES_KEPT), COUNTED_KNOWN);
	assert_int_equal(start, 190);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_ends_when_the_call_returned),
		cmocka_unit_test(it_does_not_begin_before_the_call),
		cmocka_unit_test(what_is_not_known_is_not_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
