/* SPDX-License-Identifier: MIT */
/* Clocks of a job's ranks, and the bound on their differences. */
#include "unit.h"
#include "profiler/report/rank_clocks.h"

static uint64_t error_of(struct rank_info *ranks, uint32_t count, uint32_t clocks)
{
	const struct result result = {.ranks = ranks, .rank_count = count};
	struct rank_clocks found;
	uint64_t error_ns;

	assert_true(rank_clocks_find(&result, &found));
	assert_int_equal(found.count, clocks);
	error_ns = found.error_ns;
	rank_clocks_release(&found);
	return error_ns;
}

static void two_clocks_are_as_far_apart_as_both_errors(void **state)
{
	struct rank_info ranks[] = {{.clock = 2, .wall_error_ns = 10},
				    {.clock = 0, .wall_error_ns = 30},
				    {.clock = 2, .wall_error_ns = 10},
				    {.clock = 1, .wall_error_ns = 20}};

	(void)state;
	assert_int_equal(error_of(ranks, 4, 3), 50);
	assert_int_equal(error_of(ranks, 3, 2), 40);
	ranks[1].wall_error_ns = 0;
	assert_int_equal(error_of(ranks, 4, 3), 0);
	/* one that is aligned by collectives is not known by its wall clock */
	ranks[1].alignment.collectives = 5;
	assert_int_equal(error_of(ranks, 4, 3), 30);
}

/* Comparing each with each would take minutes. */
static void captures_may_have_a_clock_for_each_of_many_ranks(void **state)
{
	enum { RANKS = 1 << 20 };
	struct rank_info *ranks = calloc(RANKS, sizeof(*ranks));

	(void)state;
	assert_non_null(ranks);
	for (uint32_t i = 0; i < RANKS; i++)
		ranks[i] = (struct rank_info){.rank = i, .clock = i, .wall_error_ns = 1};
	assert_int_equal(error_of(ranks, RANKS, RANKS), 2);
	free(ranks);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_clocks_are_as_far_apart_as_both_errors),
		cmocka_unit_test(captures_may_have_a_clock_for_each_of_many_ranks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
