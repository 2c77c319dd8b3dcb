/* SPDX-License-Identifier: MIT */
/* Parts that a process chooses, beside a model of them. */
#include "unit.h"
#include "profiler/cpu/recorded_intervals.h"

static void nothing_is_chosen_at_first(void **state)
{
	struct recorded_intervals c = {0};

	(void)state;
	assert_false(recorded_intervals_has(&c, 0));
	assert_false(recorded_intervals_has(&c, UINT64_MAX));
	assert_int_equal(recorded_intervals_note(&c, 5, false), 0);
	assert_false(recorded_intervals_has(&c, 6));
	recorded_intervals_release(&c);
	recorded_intervals_release(&c);
}

static void a_part_has_its_begin_and_not_its_end(void **state)
{
	struct recorded_intervals c = {0};

	(void)state;
	assert_int_equal(recorded_intervals_note(&c, 10, true), 1);
	assert_int_equal(recorded_intervals_note(&c, 12, true), 0); /* the interval goes on */
	assert_int_equal(recorded_intervals_note(&c, 20, false), 0);
	assert_false(recorded_intervals_has(&c, 9));
	assert_true(recorded_intervals_has(&c, 10));
	assert_true(recorded_intervals_has(&c, 19));
	assert_false(recorded_intervals_has(&c, 20));
	recorded_intervals_release(&c);
}

static void random_parts_match_a_model(void **state)
{
	(void)state;
	for (uint64_t round = 0; round < unit_rounds(100); round++) {
		struct prng p = prng_round(round);
		uint32_t n = (uint32_t)prng_below(&p, 3 * RECORDED_INTERVALS_CHANGES);
		uint64_t times[3 * RECORDED_INTERVALS_CHANGES], now = 100;
		struct recorded_intervals c = {0};

		for (uint32_t i = 0; i < n; i++) {
			now += 1 + prng_below(&p, 10);
			times[i] = now;
			assert_int_equal(recorded_intervals_note(&c, now, i % 2 == 0), i % 2 == 0);
		}
		for (uint64_t t = 90; t < now + 10; t++) {
			uint32_t before = 0;
			bool wanted;

			while (before < n && times[before] <= t)
				before++;
			wanted = before % 2 == 1 && before + RECORDED_INTERVALS_CHANGES > n;
			if (recorded_intervals_has(&c, t) != wanted)
				fail_msg("seed %" PRIu64 ": at %" PRIu64, p.seed, t);
		}
		recorded_intervals_release(&c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_chosen_at_first),
		cmocka_unit_test(a_part_has_its_begin_and_not_its_end),
		cmocka_unit_test(random_parts_match_a_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
