// SPDX-License-Identifier: MIT
/* Records that begin with numbers: their order, and how many are up to a number. */
#include "symbolize/util/sorted.h"

#include <stdlib.h>
#include "unit.h"

struct record {
	uint64_t first, second;
	char name;
};

static void records_are_sorted_by_their_numbers(void **state)
{
	struct record records[] = {{3, 0, 'd'}, {UINT64_MAX, 0, 'f'},         {1, 9, 'b'},
				   {1, 2, 'a'}, {UINT64_MAX / 2 + 2, 0, 'e'}, {2, 0, 'c'}};
	const size_t count = sizeof(records) / sizeof(records[0]);

	(void)state;
	qsort(records, count, sizeof(records[0]), sorted_compare_pairs);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(records[i].name, "abcdef"[i]);
	assert_int_equal(sorted_compare(&records[0], &records[1]), 0);
	assert_true(sorted_compare(&records[1], &records[5]) < 0);
	assert_true(sorted_compare(&records[5], &records[1]) > 0);
}

static void records_are_counted_up_to_a_number(void **state)
{
	const struct record records[] = {
		{2, 0, 'a'}, {4, 0, 'b'}, {4, 1, 'c'}, {UINT64_MAX, 0, 'd'}};
	const struct {
		uint64_t most;
		size_t count;
	} expected[] = {{0, 0}, {1, 0}, {2, 1}, {3, 1}, {4, 3}, {5, 3}, {UINT64_MAX, 4}};

	(void)state;
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
		assert_int_equal(sorted_count(records, 4, sizeof(records[0]), expected[i].most),
				 expected[i].count);
	assert_int_equal(sorted_count(NULL, 0, sizeof(records[0]), 5), 0);
}

static void the_smaller_or_larger_number_is_chosen(void **state)
{
	(void)state;
	assert_int_equal(smaller_of(3, UINT64_MAX), 3);
	assert_int_equal(smaller_of(UINT64_MAX, 3), 3);
	assert_int_equal(larger_of(3, UINT64_MAX), UINT64_MAX);
	assert_int_equal(larger_of(UINT64_MAX, 3), UINT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_are_sorted_by_their_numbers),
		cmocka_unit_test(records_are_counted_up_to_a_number),
		cmocka_unit_test(the_smaller_or_larger_number_is_chosen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
