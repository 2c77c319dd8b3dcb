/* SPDX-License-Identifier: MIT */
/* Bounds of rises: known values, false alarms of random runs, and what would decide. */
#include "unit.h"
#include <math.h>
#include "profiler/tables/rise.h"

static struct run_values values_of(uint32_t before, uint32_t after, const double *values)
{
	struct run_values v = {.runs = {before, after}};

	for (uint32_t i = 0; i < before + after; i++)
		v.values[i] = values[i];
	return v;
}

static void expect_near(double value, double expected)
{
	if (fabs(value - expected) > 1e-3 * expected)
		fail_msg("%.9g, not %.9g", value, expected);
}

/* Hahn and Meeker 1991, table A.10: t of 0.95 is 2.132 with 4 degrees of freedom, 6.314 with 1. */
static void several_runs_show_their_spread(void **state)
{
	const double five[] = {98, 99, 100, 101, 102, 110}, two[] = {100, 104, 110, 120};
	struct run_values v = values_of(5, 1, five);
	struct rise r = rise_of(&v);

	(void)state;
	assert_true(r.has_bound && r.before == 100 && r.after == 110);
	expect_near(r.bound, 2.132 * sqrt(2.5 * (1 + 1.0 / 5)));
	v = values_of(2, 2, two);
	r = rise_of(&v);
	assert_true(r.before == 102 && r.after == 115);
	expect_near(r.bound, 6.314 * sqrt(8 * (0.5 + 0.5)));
	/* durations are in the spread; a rise of one value is as good as that of many */
	v.sides[SIDE_BEFORE].measured = v.sides[SIDE_AFTER].measured = 1e9;
	v.is_one_value = true;
	r = rise_of(&v);
	assert_true(r.has_bound && !r.is_sampled);
	expect_near(r.bound, 6.314 * sqrt(8));
}

/* Equal runs of few samples are so by chance. */
static void samples_vary_though_runs_do_not(void **state)
{
	const double values[] = {100, 100, 100, 100, 100};
	struct run_values v = values_of(4, 1, values);

	(void)state;
	v.sides[SIDE_BEFORE].sampled = 4 * 100;
	v.sides[SIDE_AFTER].sampled = 100;
	expect_near(rise_of(&v).bound, 1.6449 * sqrt(100 * (1 + 1.0 / 4)));
	assert_true(rise_of(&v).is_sampled);
}

static void one_run_shows_what_is_in_it(void **state)
{
	const double values[] = {100, 130};
	struct run_values v = values_of(1, 1, values);
	struct rise r = rise_of(&v);

	(void)state;
	assert_true(r.has_bound && r.bound == 0); /* bytes and errors are exact */
	v.sides[SIDE_BEFORE] = (struct side_sum){.measured = 50, .count = 1};
	assert_false(rise_of(&v).has_bound);
	v.sides[SIDE_AFTER] = (struct side_sum){.measured = 50, .count = 2};
	r = rise_of(&v);
	assert_true(r.has_bound && !r.is_sampled && rise_runs_needed(&r, 1) == 0);
	expect_near(r.bound, 1.6449 * 10);
	expect_near(rise_bound(&r, 4, 1), 1.6449 * 5);
	v.is_one_value = true;
	r = rise_of(&v);
	assert_true(!r.has_bound && r.bound == 0);
}

/* The suggested number of runs is enough, and not much more than enough. */
static void what_would_decide(void **state)
{
	const double values[] = {80, 90, 100, 110, 120, 115};
	struct run_values v = values_of(5, 1, values);
	struct rise r = rise_of(&v);
	double samples;
	uint32_t runs;

	(void)state;
	/* without samples, only runs */
	assert_true(rise_samples_needed(&r, 30) == 0);
	runs = rise_runs_needed(&r, 30);
	assert_in_range(runs, 6, 20);
	assert_true(rise_bound(&r, 1, runs) <= 30 && rise_bound(&r, 1, runs - 1) > 30);
	assert_int_equal(rise_runs_needed(&r, 20), 0); /* 1.645 * 15.8 is more */
	/* all of the spread is counting, as far as five runs tell */
	v.sides[SIDE_BEFORE].sampled = 5 * 110;
	v.sides[SIDE_AFTER].sampled = 110;
	r = rise_of(&v);
	samples = rise_samples_needed(&r, 20);
	assert_true(samples > 1 && rise_bound(&r, samples, 5) <= 20);
	assert_true(rise_bound(&r, samples / 1.2, 5) > 20);
	assert_true(rise_samples_needed(&r, 0.1) == 0 && rise_samples_needed(&r, 0) == 0);
	/* a part of it: the other stays */
	v.sides[SIDE_BEFORE].sampled = 5 * 100;
	v.sides[SIDE_AFTER].sampled = 100;
	r = rise_of(&v);
	expect_near(rise_bound(&r, 1e9, 5), 2.132 * sqrt(150 * 1.2));
	expect_near(rise_bound(&r, 1, 5), 2.132 * sqrt(250 * 1.2));
	assert_true(rise_samples_needed(&r, 25) == 0);
	assert_true(rise_samples_needed(&r, 100) == 1 && rise_runs_needed(&r, 100) == 5);
}

static double normal_value(void)
{
	double sum = -6;

	for (int i = 0; i < 12; i++)
		sum += rand() / (double)RAND_MAX;
	return sum;
}

/* Among runs that differ by chance alone, 1 in 20 is above the bound. */
static void chance_is_above_it_as_often_as_said(void **state)
{
	const uint32_t sizes[][SIDES] = {{2, 1}, {5, 1}, {5, 3}, {20, 1}};

	(void)state;
	srand(1);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		int above = 0;

		for (int round = 0; round < 4000; round++) {
			double values[32];
			struct run_values v;
			struct rise r;

			for (uint32_t at = 0; at < sizes[i][0] + sizes[i][1]; at++)
				values[at] = 1000 + 10 * normal_value();
			v = values_of(sizes[i][0], sizes[i][1], values);
			r = rise_of(&v);
			above += r.after - r.before > r.bound;
		}
		assert_in_range(above, 150, 250); /* 200 and 3.6 deviations */
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(several_runs_show_their_spread),
		cmocka_unit_test(samples_vary_though_runs_do_not),
		cmocka_unit_test(one_run_shows_what_is_in_it),
		cmocka_unit_test(what_would_decide),
		cmocka_unit_test(chance_is_above_it_as_often_as_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
