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

static void the_first_record_not_before_a_key_is_found(void **state)
{
	const struct record records[] = {
		{2, 5, 'a'}, {4, 0, 'b'}, {4, 1, 'c'}, {UINT64_MAX, 0, 'd'}};
	const struct {
		struct record key;
		size_t position;
	} expected[] = {{{0, 0, 0}, 0}, {{2, 5, 0}, 0}, {{2, 6, 0}, 1},
			{{4, 1, 0}, 2}, {{5, 0, 0}, 3}, {{UINT64_MAX, 1, 0}, 4}};

	(void)state;
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
		assert_int_equal(sorted_find(&expected[i].key, records, 4, sizeof(records[0]),
					     sorted_compare_pairs),
				 expected[i].position);
	assert_int_equal(sorted_find(&records[0], NULL, 0, sizeof(records[0]), sorted_compare), 0);
}

static void words_are_compared_by_the_first_that_differs(void **state)
{
	const uint32_t a[] = {1, UINT32_MAX, 3}, b[] = {1, 2, 4};

	(void)state;
	assert_int_equal(compare_words(a, b, 1), 0);
	assert_true(compare_words(a, b, 3) > 0);
	assert_true(compare_words(b, a, 3) < 0);
	assert_int_equal(sorted_compare_32(a, b), 0);
	assert_true(sorted_compare_32(a, b + 1) < 0);
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
		cmocka_unit_test(the_first_record_not_before_a_key_is_found),
		cmocka_unit_test(words_are_compared_by_the_first_that_differs),
		cmocka_unit_test(the_smaller_or_larger_number_is_chosen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
