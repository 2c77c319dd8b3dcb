// SPDX-License-Identifier: MIT
/* Times of steps: the middle, the spread, the slowest one, drift. */
#include "profiler/findings/step_times.h"

#include "unit.h"

enum { STEPS = 100 };
static uint64_t starts[STEPS + 1];

static void make_steps(uint64_t (*length)(uint32_t step))
{
	starts[0] = 1000;
	for (uint32_t i = 0; i < STEPS; i++)
		starts[i + 1] = starts[i] + length(i);
}

static uint64_t one_slow(uint32_t step)
{
	return step == 57 ? 500 : 100 + step % 3;
}

static uint64_t growing(uint32_t step)
{
	return 1000 + 10 * step;
}

static void spread(void **state)
{
	struct step_times t;

	(void)state;
	make_steps(one_slow);
	assert_int_equal(step_times_measure(&t, starts, STEPS, 0), 0);
	assert_int_equal(t.median_ns, 101);
	assert_int_equal(t.fastest_ns, 100);
	assert_int_equal(t.slowest_ns, 500);
	assert_int_equal(t.slowest, 57);
	assert_int_equal(t.p10_ns, 100);
	assert_int_equal(t.p90_ns, 102);
	assert_true(t.drift < 0.01 && t.drift > -0.01);
	assert_int_equal(step_times_measure(&t, starts, STEPS, 58), 0); /* it was warm-up */
	assert_int_equal(t.slowest_ns, 102);
	assert_true(t.slowest >= 58);
}

static void drift(void **state)
{
	struct step_times t;

	(void)state;
	make_steps(growing);
	assert_int_equal(step_times_measure(&t, starts, STEPS, 0), 0);
	assert_true(t.drift > 0.8 && t.drift < 0.95);
	assert_int_equal(t.slowest, STEPS - 1);
}

/* No steps, and times that do not grow. */
static void odd_steps(void **state)
{
	const uint64_t back[] = {10, 5, 7};
	struct step_times t;

	(void)state;
	assert_int_equal(step_times_measure(&t, starts, 0, 0), 0);
	assert_int_equal(t.median_ns, 0);
	assert_int_equal(step_times_measure(&t, back, 2, 0), 0);
	assert_int_equal(t.slowest_ns, 2);
	assert_int_equal(t.fastest_ns, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spread),
		cmocka_unit_test(drift),
		cmocka_unit_test(odd_steps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
