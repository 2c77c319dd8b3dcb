/* SPDX-License-Identifier: MIT */
/* Sums that do not fit. */
#include "unit.h"
#include "symbolize/util/saturate.h"

static void a_sum_ends_at_the_largest_number(void **state)
{
	const uint64_t half = UINT64_C(1) << 63;

	(void)state;
	assert_int_equal(saturated_sum(0, 0), 0);
	assert_int_equal(saturated_sum(2, 3), 5);
	assert_int_equal(saturated_sum(half, half - 1), UINT64_MAX);
	assert_int_equal(saturated_sum(half, half), UINT64_MAX);
	assert_int_equal(saturated_sum(UINT64_MAX, 0), UINT64_MAX);
	assert_int_equal(saturated_sum(0, UINT64_MAX), UINT64_MAX);
	assert_int_equal(saturated_sum(UINT64_MAX, UINT64_MAX), UINT64_MAX);
}

static void it_stays_there(void **state)
{
	uint64_t sum = 1;

	(void)state;
	for (int i = 0; i < 9; i++)
		saturated_add(&sum, UINT64_C(1) << 62);
	assert_int_equal(sum, UINT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sum_ends_at_the_largest_number),
		cmocka_unit_test(it_stays_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
