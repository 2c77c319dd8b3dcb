// SPDX-License-Identifier: MIT
#include "profiler/tables/change.h"

#include <math.h>
#include "profiler/tables/significance.h"

#define NORMAL 1.96 /* quantile 0.975 of the normal distribution */

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

/* Returns true for equal values. Sums of equal values may differ in their last digit. */
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

void change_judge(struct change *c, double q)
{
	c->q = q;
	c->is_significant = c->has_bound && !is_equal(c) && q <= SIGNIFICANCE_LEVEL;
}

/* Returns the probability of a difference as large, given its variance. */
static double probability_of(double difference, double variance)
{
	if (variance <= 0)
		return difference == 0 ? 1 : 0;
	return significance_of_normal(difference / sqrt(variance));
}

/* Returns the probability of the difference by counting alone, whose variance is `variance`. */
static double counting_probability(const struct change_base *base, const struct side_sum *sides,
				   double difference, double variance)
{
	uint64_t before = sides[SIDE_BEFORE].count, after = sides[SIDE_AFTER].count;

	/* counts include other things, or do not tell the time */
	if (sides[SIDE_BEFORE].measured > 0 || sides[SIDE_AFTER].measured > 0 ||
	    sides[SIDE_BEFORE].is_estimated || sides[SIDE_AFTER].is_estimated)
		return probability_of(difference, variance);
	if (base->all[SIDE_BEFORE] > 0 && base->all[SIDE_AFTER] > 0)
		return significance_of_shares(before, base->all[SIDE_BEFORE], after,
					      base->all[SIDE_AFTER]);
	if (base->exposure[SIDE_BEFORE] > 0 && base->exposure[SIDE_AFTER] > 0)
		return significance_of_counts(before, after, base->exposure[SIDE_BEFORE],
					      base->exposure[SIDE_AFTER]);
	return probability_of(difference, variance);
}

/* Judges several runs by their spread, but at least by that of counting. */
static void judge_runs(struct change *c, const struct change_base *base, const double *values,
		       const struct side_sum *sides, double sampled)
{
	uint32_t b = base->runs[SIDE_BEFORE], a = base->runs[SIDE_AFTER], freedom = a + b - SIDES;
	double squares = squares_of(values, b, c->before) + squares_of(values + b, a, c->after);
	double error = sqrt(squares / freedom * (1.0 / a + 1.0 / b));

	c->bound = fmax(student_quantile(SIGNIFICANCE_LEVEL / 2, freedom) * error,
			NORMAL * sqrt(sampled));
	c->is_exact = c->bound <= 0;
	if (is_equal(c))
		return;
	c->p = error > 0 ? significance_of_student(change_difference(c) / error, freedom) : 0;
	if (sampled > 0)
		c->p = fmax(c->p, counting_probability(base, sides, change_difference(c), sampled));
}

static void judge_one_run(struct change *c, const struct change_base *base,
			  const struct side_sum *sides, double sampled, double measured)
{
	c->bound = NORMAL * sqrt(sampled + measured);
	c->is_exact = c->bound <= 0;
	/* a single run of an operation shows no spread */
	c->has_bound = measured <= 0 || c->count[SIDE_BEFORE] > 1 || c->count[SIDE_AFTER] > 1;
	if (is_equal(c) || !c->has_bound)
		return;
	c->p = measured <= 0 && sampled > 0
		       ? counting_probability(base, sides, change_difference(c), sampled)
		       : probability_of(change_difference(c), sampled + measured);
}

struct change change_of(const struct change_base *base, const double *values,
			const struct side_sum *sides)
{
	double b = base->runs[SIDE_BEFORE], a = base->runs[SIDE_AFTER];
	struct change c = {
		.before = mean_of(values, base->runs[SIDE_BEFORE]),
		.after = mean_of(values + base->runs[SIDE_BEFORE], base->runs[SIDE_AFTER]),
		.count = {sides[SIDE_BEFORE].count, sides[SIDE_AFTER].count},
		.has_bound = true,
		.p = 1};
	double sampled = sides[SIDE_BEFORE].sampled / (b * b) + sides[SIDE_AFTER].sampled / (a * a);
	double measured =
		sides[SIDE_BEFORE].measured / (b * b) + sides[SIDE_AFTER].measured / (a * a);

	if (a + b > SIDES)
		judge_runs(&c, base, values, sides, sampled);
	else
		judge_one_run(&c, base, sides, sampled, measured);
	change_judge(&c, c.p);
	return c;
}
