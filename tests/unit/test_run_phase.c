/* SPDX-License-Identifier: MIT */
/* Walks the table of phases: where each leads, and that no walk turns back or gets stuck. */
#include "unit.h"
#include "profiler/run/run_phase.h"

static bool has_next(enum run_phase phase)
{
	for (enum run_phase to = 0; to < RUN_PHASES; to++)
		if (run_phase_may_follow(phase, to))
			return true;
	return false;
}

/* Follows every way from a phase to its end; counts the ways, and marks what was passed. */
static unsigned walk(enum run_phase phase, bool *passed)
{
	unsigned ways = 0;

	passed[phase] = true;
	for (enum run_phase to = 0; to < RUN_PHASES; to++) {
		if (!run_phase_may_follow(phase, to))
			continue;
		assert_true(to > phase); /* so each walk ends */
		ways += walk(to, passed);
	}
	return ways ? ways : 1;
}

static void each_phase_is_reached_and_none_again(void **state)
{
	bool passed[RUN_PHASES] = {false};

	(void)state;
	assert_true(walk(RUN_SETTING_UP, passed) > 5);
	for (enum run_phase phase = 0; phase < RUN_PHASES; phase++)
		assert_true(passed[phase]);
}

static void only_a_failure_is_final(void **state)
{
	(void)state;
	for (enum run_phase phase = 0; phase < RUN_PHASES; phase++)
		assert_int_equal(has_next(phase), phase != RUN_FAILED);
}

/* The supervisor may be killed, and a snapshot be taken, whatever the run is at. */
static void a_run_may_fail_or_be_copied_at_any_time(void **state)
{
	(void)state;
	for (enum run_phase phase = 0; phase < RUN_FAILED; phase++) {
		assert_true(run_phase_may_follow(phase, RUN_FAILED));
		assert_int_equal(run_phase_may_follow(phase, RUN_COPIED),
				 phase != RUN_SETTING_UP && phase != RUN_COPIED);
	}
}

static void check_run(const enum run_phase *phases, unsigned count)
{
	enum run_phase phase = RUN_SETTING_UP;

	for (unsigned i = 0; i < count; i++) {
		run_phase_enter(&phase, phases[i]);
		assert_int_equal(phase, phases[i]);
	}
}

#define RUN(...)                                         \
	check_run((const enum run_phase[]){__VA_ARGS__}, \
		  sizeof((const enum run_phase[]){__VA_ARGS__}) / sizeof(enum run_phase))

static void runs_end_with_the_command_or_before_it(void **state)
{
	(void)state;
	RUN(RUN_GOING, RUN_COMMAND_ENDED, RUN_AWAITING_SURVIVORS, RUN_OVER);
	RUN(RUN_GOING, RUN_COMMAND_ENDED, RUN_OVER); /* -d ends at that moment */
	RUN(RUN_GOING, RUN_OVER, RUN_FAILED);
	RUN(RUN_GOING, RUN_LEAVING, RUN_OVER, RUN_COPIED);
}

static void libraries_leave_only_processes_that_ran_before_us(void **state)
{
	(void)state;
	assert_false(run_phase_may_follow(RUN_COMMAND_ENDED, RUN_LEAVING));
	assert_false(run_phase_may_follow(RUN_AWAITING_SURVIVORS, RUN_LEAVING));
	assert_false(run_phase_may_follow(RUN_SETTING_UP, RUN_OVER));
	assert_false(run_phase_may_follow(RUN_GOING, RUN_AWAITING_SURVIVORS));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_phase_is_reached_and_none_again),
		cmocka_unit_test(only_a_failure_is_final),
		cmocka_unit_test(a_run_may_fail_or_be_copied_at_any_time),
		cmocka_unit_test(runs_end_with_the_command_or_before_it),
		cmocka_unit_test(libraries_leave_only_processes_that_ran_before_us),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
