/* SPDX-License-Identifier: MIT */
/* Whole numbers that add up. */
#include <math.h>
#include "unit.h"
#include "profiler/shape/rounding.h"

static const double units[] = {1, 1000, 1e9 / 50, 1e9 / 49, 1e9 / 10000, 1e9 / 3};

static void check_rounding(struct prng *p, const double *weights, uint32_t count, double unit)
{
	uint64_t *out, total, sum = 0;
	double exact = 0;

	out = calloc(count + 1, sizeof(*out));
	assert_non_null(out);
	assert_int_equal(round_to_units(weights, count, unit, out, &total), 0);
	for (uint32_t i = 0; i < count; i++) {
		double units_here = weights[i] / unit;

		exact += units_here;
		sum += out[i];
		EXPECT(p, (double)out[i] >= floor(units_here));
		EXPECT(p, (double)out[i] <= floor(units_here) + 1);
		if (units_here == 0)
			EXPECT(p, out[i] == 0);
	}
	EXPECT(p, sum == total);
	EXPECT(p, fabs((double)total - exact) <= 0.5 + 1e-9 * exact);
	free(out);
}

static void rounding_conserves_the_total(void **state)
{
	static double weights[2000];

	(void)state;
	for (uint64_t round = 0; round < unit_rounds(500); round++) {
		struct prng p = prng_round(round);
		uint32_t n = (uint32_t)prng_below(&p, round % 20 ? 60 : 2000);
		uint32_t bits = 1 + (uint32_t)prng_below(&p, 40);

		for (uint32_t i = 0; i < n; i++)
			weights[i] = (double)prng_bits(&p, bits);
		for (size_t u = 0; u < sizeof(units) / sizeof(units[0]); u++)
			check_rounding(&p, weights, n, units[u]);
	}
}

static void small_weights_are_not_lost_together(void **state)
{
	static double weights[1000];
	uint64_t out[1000], total, sum = 0;

	(void)state;
	/* a thousand times a tenth of a sample is a hundred samples, and none has more than one */
	for (uint32_t i = 0; i < 1000; i++)
		weights[i] = 2000000;
	assert_int_equal(round_to_units(weights, 1000, 20000000, out, &total), 0);
	assert_int_equal(total, 100);
	for (uint32_t i = 0; i < 1000; i++) {
		assert_true(out[i] <= 1);
		sum += out[i];
	}
	assert_int_equal(sum, 100);
}

static void the_largest_remainders_are_rounded_up(void **state)
{
	const double weights[] = {0, 1.25, 2.75, 0.25, 0.25};
	uint64_t out[5], total;

	(void)state;
	assert_int_equal(round_to_units(weights, 5, 1, out, &total), 0);
	assert_int_equal(total, 5); /* 4.5: b goes up, and of the equal ones the first */
	assert_int_equal(out[0], 0);
	assert_int_equal(out[1], 2);
	assert_int_equal(out[2], 3);
	assert_int_equal(out[3], 0);
	assert_int_equal(out[4], 0);
}

static void whole_weights_stay_as_they_are(void **state)
{
	const double weights[] = {0, 9007199254740991.0}; /* 2^53 - 1 ns: 104 days */
	uint64_t out[2], total;

	(void)state;
	assert_int_equal(round_to_units(weights, 2, 1, out, &total), 0);
	assert_int_equal(out[0], 0);
	assert_int_equal(out[1], 9007199254740991);
	assert_int_equal(total, 9007199254740991);
}

static void nothing_rounds_to_nothing(void **state)
{
	const double none[] = {0, 0, -1};
	uint64_t out[] = {5, 5, 5}, total = 5;

	(void)state;
	assert_int_equal(round_to_units(NULL, 0, 1, NULL, &total), 0);
	assert_int_equal(total, 0);
	total = 5;
	assert_int_equal(round_to_units(none, 3, 1, out, &total), 0);
	assert_int_equal(total, 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(out[i], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rounding_conserves_the_total),
		cmocka_unit_test(small_weights_are_not_lost_together),
		cmocka_unit_test(the_largest_remainders_are_rounded_up),
		cmocka_unit_test(whole_weights_stay_as_they_are),
		cmocka_unit_test(nothing_rounds_to_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
