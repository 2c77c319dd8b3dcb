// SPDX-License-Identifier: MIT
/* Records sorted by the number at their beginning. */
#include "symbolize/util/time_sort.h"

#include <stdlib.h>
#include "unit.h"

struct record {
	uint64_t ns, copy, rest;
};

enum { MOST = 20000 };
static struct record records[MOST];

static uint64_t sum_of(const struct record *list, size_t count)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += list[i].ns * 31 + list[i].rest;
	return sum;
}

/* Sorts, and checks that all records are still there, in order and whole. */
static void expect_sorted(size_t count)
{
	uint64_t before = sum_of(records, count);

	time_sort(records, count, sizeof(records[0]));
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(records[i].copy, records[i].ns);
		assert_true(i == 0 || records[i - 1].ns <= records[i].ns);
	}
	assert_int_equal(sum_of(records, count), before);
}

static void any_order(void **state)
{
	static const size_t counts[] = {0, 1, 2, 3, 47, 48, 49, 255, 256, 257, 1000, MOST};
	static const uint64_t masks[] = {0,      1,          0xff,       0xffff,
					 0xff00, 0xffffffff, UINT64_MAX, UINT64_C(0xff) << 56};

	(void)state;
	srand(1);
	for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++)
		for (size_t m = 0; m < sizeof(masks) / sizeof(masks[0]); m++) {
			for (size_t i = 0; i < counts[c]; i++) {
				uint64_t ns = ((uint64_t)rand() << 42 ^ (uint64_t)rand() << 21 ^
					       (uint64_t)rand()) &
					      masks[m];

				records[i] = (struct record){ns, ns, i};
			}
			expect_sorted(counts[c]);
		}
}

static void nearly_sorted_and_reversed(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < MOST; i++)
		records[i] = (struct record){i ^ 7, i ^ 7, i};
	expect_sorted(MOST);
	for (uint64_t i = 0; i < MOST; i++)
		records[i] = (struct record){UINT64_MAX - i, UINT64_MAX - i, i};
	expect_sorted(MOST);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_order),
		cmocka_unit_test(nearly_sorted_and_reversed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
