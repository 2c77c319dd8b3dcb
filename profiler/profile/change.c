// SPDX-License-Identifier: MIT
#include "profiler/profile/change.h"

#include <math.h>

/* Quantile 0.975 of Student's t with so many degrees of freedom. */
static double student(uint32_t freedom)
{
	static const double quantiles[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306,
					   2.262,  2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
					   2.110,  2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064,
					   2.060,  2.056, 2.052, 2.048, 2.045, 2.042};
	const uint32_t count = sizeof(quantiles) / sizeof(quantiles[0]);

	return freedom <= count ? quantiles[freedom - 1] : freedom < 60 ? 2.042 : 2.0;
}

#define NORMAL 1.96 /* the same of the normal distribution */

static double mean_of(const double *values, uint32_t count)
{
	double sum = 0;

	for (uint32_t i = 0; i < count; i++)
		sum += values[i];
	return sum / count;
}

static double squares_of(const double *values, uint32_t count, double mean)
{
	double sum = 0;

	for (uint32_t i = 0; i < count; i++)
		sum += (values[i] - mean) * (values[i] - mean);
	return sum;
}

/* Of equal values, sums may differ in their last digit. */
static bool is_equal(const struct change *c)
{
	return fabs(change_difference(c)) <= 1e-9 * fmax(c->after, c->before);
}

enum change_verdict change_verdict(const struct change *change)
{
	if (is_equal(change))
		return CHANGED_NOT;
	if (!change->has_bound)
		return CHANGED_PERHAPS;
	if (!change->is_significant)
		return CHANGED_BY_CHANCE;
	if (change->before <= 0)
		return CHANGED_TO_NEW;
	if (change->after <= 0)
		return CHANGED_TO_NOTHING;
	return change_difference(change) > 0 ? CHANGED_TO_MORE : CHANGED_TO_LESS;
}

const char *change_verdict_word(enum change_verdict verdict)
{
	static const char *const words[CHANGE_VERDICTS] = {
		[CHANGED_NOT] = "same",        [CHANGED_BY_CHANCE] = "noise",
		[CHANGED_PERHAPS] = "unknown", [CHANGED_TO_NEW] = "new",
		[CHANGED_TO_NOTHING] = "gone", [CHANGED_TO_MORE] = "more",
		[CHANGED_TO_LESS] = "less"};

	return words[verdict];
}

struct change change_of(const uint32_t runs[SIDES], const double *values,
			const struct side_sum *sides)
{
	uint32_t b = runs[SIDE_BEFORE], a = runs[SIDE_AFTER];
	struct change c = {.before = mean_of(values, b),
			   .after = mean_of(values + b, a),
			   .count = {sides[SIDE_BEFORE].count, sides[SIDE_AFTER].count},
			   .has_bound = true};
	double sampled = sides[SIDE_BEFORE].sampled / ((double)b * b) +
			 sides[SIDE_AFTER].sampled / ((double)a * a);
	double measured = sides[SIDE_BEFORE].measured / ((double)b * b) +
			  sides[SIDE_AFTER].measured / ((double)a * a);

	if (a + b > SIDES) {
		uint32_t freedom = a + b - SIDES;
		double squares =
			squares_of(values, b, c.before) + squares_of(values + b, a, c.after);

		c.bound = fmax(student(freedom) * sqrt(squares / freedom * (1.0 / a + 1.0 / b)),
			       NORMAL * sqrt(sampled));
	} else {
		c.bound = NORMAL * sqrt(sampled + measured);
	}
	c.is_significant = !is_equal(&c) && fabs(change_difference(&c)) > c.bound;
	return c;
}
