/* SPDX-License-Identifier: MIT */
/* Known answers: sums of exact fractions for counts and shares, printed tables for t. */
#include "unit.h"
#include <math.h>
#include "profiler/tables/significance.h"

static void expect_near(double value, double right)
{
	if (!(fabs(value - right) <= 1e-9 + 1e-7 * right))
		fail_msg("%.12g instead of %.12g", value, right);
}

static void counts_are_binomial_given_their_sum(void **state)
{
	(void)state;
	expect_near(significance_of_counts(1, 7, 1, 1), 0.0703125);
	expect_near(significance_of_counts(7, 1, 1, 1), 0.0703125);
	expect_near(significance_of_counts(0, 4, 1, 1), 0.125);
	expect_near(significance_of_counts(0, 6, 1, 1), 0.03125);
	expect_near(significance_of_counts(100, 121, 1, 1), 0.1783815705682226);
	expect_near(significance_of_counts(100, 121, 5, 5), 0.1783815705682226);
	expect_near(significance_of_counts(100, 150, 1, 1), 0.001883300935076157);
	expect_near(significance_of_counts(1000, 1100, 1, 1), 0.030720707864242296);
	expect_near(significance_of_counts(100, 300, 1, 3), 1);
	expect_near(significance_of_counts(100, 340, 1, 3), 0.29512394362735545);
	expect_near(significance_of_counts(10, 60, 1, 3), 0.04400941931464226);
	expect_near(significance_of_counts(0, 0, 1, 3), 1);
	/* counts of a long run: the normal approximation is exact enough */
	assert_true(fabs(significance_of_counts(1000000000, 1000087654, 1, 1) -
			 significance_of_normal(87654 / sqrt(2000087654.0))) < 1e-4);
	assert_true(significance_of_counts(1000000, 2000000, 1, 1) < 1e-300);
}

static void shares_are_hypergeometric_given_all_sums(void **state)
{
	(void)state;
	expect_near(significance_of_shares(3, 4, 1, 4), 0.4857142857142857);
	expect_near(significance_of_shares(1, 4, 3, 4), 0.4857142857142857);
	expect_near(significance_of_shares(100, 200, 300, 600), 1);
	expect_near(significance_of_shares(100, 200, 340, 600), 0.1192909093169806);
	expect_near(significance_of_shares(1, 200, 7, 600), 0.7318128322023764);
	expect_near(significance_of_shares(500, 1000, 600, 1000), 8.453719674485641e-06);
	/* all of both; nothing to compare; more than all */
	expect_near(significance_of_shares(200, 200, 600, 600), 1);
	expect_near(significance_of_shares(3, 0, 5, 9), 1);
	expect_near(significance_of_shares(9, 4, 4, 4), 1);
}

static void t_is_as_in_tables(void **state)
{
	static const struct {
		double freedom, one_in_40, one_in_20;
	} rows[] = {{1, 12.706, 6.314}, {2, 4.303, 2.920},  {4, 2.776, 2.132},
		    {9, 2.262, 1.833},  {30, 2.042, 1.697}, {1000000, 1.960, 1.645}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_true(fabs(student_quantile(0.025, rows[i].freedom) - rows[i].one_in_40) <
			    0.001);
		assert_true(fabs(student_quantile(0.05, rows[i].freedom) - rows[i].one_in_20) <
			    0.001);
		assert_true(fabs(significance_of_student(-rows[i].one_in_40, rows[i].freedom) -
				 0.05) < 1e-4);
	}
	expect_near(significance_of_student(0, 3), 1);
	expect_near(significance_of_student(INFINITY, 3), 0);
	assert_true(fabs(significance_of_normal(-1.959964) - 0.05) < 1e-6);
}

static void false_discoveries_are_controlled(void **state)
{
	/* p values in any order; n p / rank, and never above that of a larger p */
	double p[] = {0.04, 0.001, 0.5, 0.03, 0.02};
	const double right[] = {0.05, 0.005, 0.5, 0.05, 0.05};

	(void)state;
	assert_int_equal(significance_control(p, 5), 0);
	for (int i = 0; i < 5; i++)
		expect_near(p[i], right[i]);
	p[0] = 0.03;
	assert_int_equal(significance_control(p, 1), 0);
	expect_near(p[0], 0.03);
	assert_int_equal(significance_control(NULL, 0), 0);
}

/* Compared one by one, at most 1 in 20 pairs of counts with equal means differ significantly. */
static void equal_means_are_rarely_significant(void **state)
{
	const uint32_t rounds = 4000;
	uint32_t found = 0, found_shares = 0;

	(void)state;
	for (uint32_t i = 0; i < rounds; i++) {
		struct prng p = prng_round(i);
		uint64_t a = 0, b = 0;

		/* binomial, 300 draws of 1 in 10 and 900 of them */
		for (uint32_t k = 0; k < 1200; k++)
			*(k < 300 ? &a : &b) += prng_below(&p, 10) == 0;
		found += significance_of_counts(a, b, 300, 900) <= SIGNIFICANCE_LEVEL;
		found_shares += significance_of_shares(a, 300, b, 900) <= SIGNIFICANCE_LEVEL;
	}
	assert_true(found <= rounds * 6 / 100);
	assert_true(found_shares <= rounds * 6 / 100);
	/* but not never */
	assert_true(found > rounds / 100 && found_shares > rounds / 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_are_binomial_given_their_sum),
		cmocka_unit_test(shares_are_hypergeometric_given_all_sums),
		cmocka_unit_test(t_is_as_in_tables),
		cmocka_unit_test(false_discoveries_are_controlled),
		cmocka_unit_test(equal_means_are_rarely_significant),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
