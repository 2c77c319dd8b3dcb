/* SPDX-License-Identifier: MIT */
/*
 * Errors of estimated sums (--budget). No amount is lost, whatever the length of the run and the
 * order of amounts. Intervals of 95 % have the truth about as often as they say, for programs of
 * any period, sums and shares alike.
 */
#include <math.h>
#include "unit.h"
#include "profiler/addons/batch_means.h"

#define MS UINT64_C(1000000)
#define PERIOD (500 * MS)
#define BEGIN UINT64_C(1000000000)

static void amounts_are_kept(void **state)
{
	static const uint64_t periods[] = {1, 63, 64, 65, 1000, 100000};

	(void)state;
	for (size_t i = 0; i < sizeof(periods) / sizeof(periods[0]); i++) {
		struct prng prng = prng_round(i);
		struct batch_axis axis = {0};
		struct batch_sum sum = {0}, early = {0};
		double expected = 0, count = 0;

		for (uint64_t p = 0; p < periods[i]; p++) {
			uint64_t from = prng_below(&prng, p + 1);

			batch_axis_note(&axis, BEGIN + p * PERIOD, PERIOD);
			if (p < 10)
				batch_sum_add(&early, &axis, BEGIN + p * PERIOD, 1);
			/* of this period, or late */
			batch_sum_add(&sum, &axis,
				      BEGIN + from * PERIOD + prng_below(&prng, PERIOD), (double)p);
			expected += (double)p;
			count++;
		}
		assert_true(batch_sum_total(&sum) == expected);
		assert_int_equal(axis.periods, periods[i]);
		assert_true((double)sum.windows <= count && sum.windows > 0);
		/* a sum that is not touched for long is folded when it is used */
		batch_error(&axis, (struct batch_term[]){{&early, 1}}, 1);
		assert_true(batch_sum_total(&early) == (periods[i] < 10 ? periods[i] : 10));
		assert_int_equal(early.shift, periods[i] < 10 ? 0 : axis.shift);
	}
}

/* Times and periods of a hostile process. */
static void odd_times_are_bounded(void **state)
{
	static const uint64_t times[] = {0, 1, BEGIN, UINT64_MAX / 2, UINT64_MAX};
	struct batch_axis axis = {0};
	struct batch_sum sum = {0};

	(void)state;
	batch_sum_add(&sum, &axis, 5, 1); /* no period yet */
	assert_true(batch_sum_total(&sum) == 0);
	batch_axis_note(&axis, BEGIN, MS);
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		batch_axis_note(&axis, times[i], UINT64_MAX - i);
		batch_sum_add(&sum, &axis, times[i], 1);
		assert_true(axis.shift < 64);
	}
	assert_true(batch_sum_total(&sum) == 5);
	assert_true(isfinite(batch_error(&axis, (struct batch_term[]){{&sum, 1}}, 1)));
}

/* Windows are counted once, whatever order their work comes in. */
static void windows_count_once(void **state)
{
	struct batch_axis axis = {0};
	struct batch_sum sum = {0};

	(void)state;
	for (uint64_t p = 0; p < 200; p++)
		batch_axis_note(&axis, BEGIN + p * PERIOD, PERIOD);
	for (int round = 0; round < 100; round++)
		for (uint64_t p = 0; p < 20; p += 1 + (uint64_t)(round % 3))
			batch_sum_add(&sum, &axis, BEGIN + p * PERIOD, 1);
	assert_int_equal(sum.windows, 20);
	batch_sum_add(&sum, &axis, BEGIN + 150 * PERIOD, 1);
	batch_sum_add(&sum, &axis, BEGIN + 149 * PERIOD, 1);
	batch_sum_add(&sum, &axis, BEGIN + 150 * PERIOD, 1);
	assert_int_equal(sum.windows, 22);
	batch_sum_add(&sum, &axis, BEGIN, 1); /* too late to be told from a window that was seen */
	assert_int_equal(sum.windows, 22);
}

static void few_windows_have_a_bound(void **state)
{
	struct batch_axis axis = {0};
	struct batch_sum sum = {0}, none = {0};

	(void)state;
	for (uint64_t p = 0; p < 100; p++)
		batch_axis_note(&axis, BEGIN + p * PERIOD, PERIOD);
	batch_sum_add(&sum, &axis, BEGIN + 7 * PERIOD, 100);
	assert_int_equal(sum.windows, 1);
	assert_true(fabs(batch_sum_bound(&sum) - 557) < 1);
	batch_sum_add(&sum, &axis, BEGIN + 9 * PERIOD, 100);
	assert_true(fabs(batch_sum_bound(&sum) - 722) < 1);
	assert_true(batch_sum_bound(&none) == 0);
	/* an error needs some periods */
	axis = (struct batch_axis){0};
	batch_axis_note(&axis, BEGIN, PERIOD);
	assert_true(batch_error(&axis, (struct batch_term[]){{&sum, 1}}, 1) < 0);
}

/*
 * Records 1 % of a program that spends `parts` of its period in two kernels. Returns whether the
 * interval of the first one's sum, and of its share, hold the truth.
 */
static void estimate(uint64_t period, double part, uint64_t seed, bool *sum_holds,
		     bool *share_holds)
{
	enum { PERIODS = 150, LENGTH = PERIOD / 100 };
	struct prng prng = prng_round(seed);
	uint64_t phase = prng_below(&prng, period);
	struct batch_axis axis = {0};
	struct batch_sum first = {0}, all = {0};
	double truth = PERIODS * (double)PERIOD * part, share, error;

	for (uint64_t p = 0; p < PERIODS; p++) {
		uint64_t start = p * PERIOD + prng_below(&prng, PERIOD - LENGTH);

		batch_axis_note(&axis, BEGIN + p * PERIOD, PERIOD);
		for (uint64_t at = start; at < start + LENGTH; at += MS / 10) {
			bool is_first = (double)((at + phase) % period) < part * (double)period;

			if (is_first)
				batch_sum_add(&first, &axis, BEGIN + at, 100 * 1e5);
			batch_sum_add(&all, &axis, BEGIN + at, 100 * 1e5);
		}
	}
	error = batch_error(&axis, (struct batch_term[]){{&first, 1}}, 1);
	*sum_holds = fabs(batch_sum_total(&first) - truth) <= error;
	share = batch_sum_total(&first) / batch_sum_total(&all);
	error = batch_error(&axis, (struct batch_term[]){{&first, 1}, {&all, -share}}, 2);
	*share_holds = fabs(share - part) * batch_sum_total(&all) <= error;
}

static void intervals_hold_the_truth(void **state)
{
	static const uint64_t periods[] = {3 * MS, 50 * MS, 490 * MS, 1300 * MS, 3000 * MS};
	enum { RUNS = 400 };

	(void)state;
	for (size_t i = 0; i < sizeof(periods) / sizeof(periods[0]); i++) {
		uint32_t sums = 0, shares = 0;

		for (uint64_t run = 0; run < RUNS; run++) {
			bool sum_holds, share_holds;

			estimate(periods[i], 0.3, run, &sum_holds, &share_holds);
			sums += sum_holds;
			shares += share_holds;
		}
		assert_in_range(sums, RUNS * 92 / 100, RUNS);
		assert_in_range(shares, RUNS * 92 / 100, RUNS);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(amounts_are_kept),
		cmocka_unit_test(odd_times_are_bounded),
		cmocka_unit_test(windows_count_once),
		cmocka_unit_test(few_windows_have_a_bound),
		cmocka_unit_test(intervals_hold_the_truth),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
