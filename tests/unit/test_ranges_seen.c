/* SPDX-License-Identifier: MIT */
/* Processes that choose the recorded ranges, and lists of names. */
#include "unit.h"
#include "profiler/cpu/ranges_seen.h"

static void a_process_counts_once(void **state)
{
	struct ledger_outside l = {0};
	struct process enters = {0}, works_first = {0}, never = {0};

	(void)state;
	assert_true(ranges_seen_enter(&l, &enters));
	assert_false(ranges_seen_enter(&l, &enters));
	ranges_seen_leave_out(&l, &enters);
	ranges_seen_leave_out(&l, &works_first);
	ranges_seen_leave_out(&l, &never);
	ranges_seen_leave_out(&l, &never);
	assert_int_equal(l.only_outside, 2);
	assert_true(ranges_seen_enter(&l, &works_first));
	ranges_seen_leave_out(&l, &works_first);
	assert_int_equal(l.entered, 2);
	assert_int_equal(l.only_outside, 1);
}

static void names_are_listed_once(void **state)
{
	struct ledger_outside l = {0};

	(void)state;
	ranges_seen_other(&l, "", "step 1");
	ranges_seen_other(&l, "", "step");
	ranges_seen_other(&l, "train", "step");
	ranges_seen_other(&l, "", "step 1");
	ranges_seen_other(&l, "", "step");
	assert_string_equal(l.other_ranges, "step 1, step, train:step");
	ranges_seen_other(&l, "", "\033[31m");
	assert_string_equal(l.other_ranges, "step 1, step, train:step, ?[31m");
}

static void lists_end(void **state)
{
	struct ledger_outside l = {0}, by = {0};
	char name[600];

	(void)state;
	for (uint32_t i = 0; i < 20; i++) {
		snprintf(name, sizeof(name), "r%u", i);
		ranges_seen_other(&l, "", name);
	}
	assert_string_equal(l.other_ranges, "r0, r1, r2, r3, r4, r5, r6, r7, ...");
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	for (uint32_t i = 0; i < 20; i++) {
		name[0] = (char)('a' + i);
		ranges_seen_other(&by, name, name);
		ranges_seen_name(&by, name);
	}
	assert_string_equal(by.entered_by, "...");
	assert_true(strlen(by.other_ranges) < sizeof(by.other_ranges));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_process_counts_once),
		cmocka_unit_test(names_are_listed_once),
		cmocka_unit_test(lists_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
