/* SPDX-License-Identifier: MIT */
/* Why stacks are cut: counts by reason and module, the highest first, within a bound. */
#include "unit.h"
#include "profiler/model/cut_stacks.h"

static void add(struct cut_stacks *cut, enum unwind_end reason, uint32_t module, uint32_t count)
{
	while (count-- > 0)
		cut_stacks_add(cut, reason, module);
}

static void the_most_frequent_come_first(void **state)
{
	struct cut_stacks cut = {0};
	struct cut_place places[3];

	(void)state;
	assert_int_equal(cut_stacks_top(&cut, places, 3), 0);
	add(&cut, UNWIND_NO_INFORMATION, 9, 2);
	assert_int_equal(cut_stacks_top(&cut, places, 3), 1);
	add(&cut, UNWIND_NOT_CODE, 9, 7);
	add(&cut, UNWIND_LOOP, 0, 1);
	add(&cut, UNWIND_NO_INFORMATION, 4000000, 5);
	assert_int_equal(cut_stacks_top(&cut, places, 3), 3);
	assert_int_equal(places[0].count, 7);
	assert_int_equal(places[0].reason, UNWIND_NOT_CODE);
	assert_int_equal(places[0].module, 9);
	assert_int_equal(places[1].count, 5);
	assert_int_equal(places[1].reason, UNWIND_NO_INFORMATION);
	assert_int_equal(places[1].module, 4000000);
	assert_int_equal(places[2].count, 2);
	assert_int_equal(cut_stacks_top(&cut, places, 0), 0);
	cut_stacks_release(&cut);
}

static void only_cuts_have_reasons(void **state)
{
	(void)state;
	assert_null(cut_stacks_reason(UNWIND_WHOLE));
	assert_null(cut_stacks_reason(UNWIND_GUESSED));
	for (int reason = UNWIND_TOO_DEEP; reason < UNWIND_ENDS; reason++)
		assert_non_null(cut_stacks_reason((enum unwind_end)reason));
}

static void there_is_a_bound(void **state)
{
	struct cut_stacks cut = {0};

	(void)state;
	for (uint32_t i = 0; i < 2 * CUT_STACKS_MAX; i++)
		cut_stacks_add(&cut, UNWIND_LOOP, i);
	assert_int_equal(cut.counts.count, CUT_STACKS_MAX);
	cut_stacks_release(&cut);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_most_frequent_come_first),
		cmocka_unit_test(only_cuts_have_reasons),
		cmocka_unit_test(there_is_a_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
