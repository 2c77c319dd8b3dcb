// SPDX-License-Identifier: MIT
#include "profiler/tables/rise.h"

#include <math.h>
#include "profiler/tables/significance.h"

#define NORMAL 1.6449 /* quantile 0.95 of the normal distribution: SIGNIFICANCE_LEVEL above it */
#define STEP 1.1      /* ratio of the factors to try */

struct rise rise_of(const struct run_values *v)
{
	const uint32_t b = v->runs[SIDE_BEFORE], a = v->runs[SIDE_AFTER];
	struct rise r = {.runs = {b, a}};
	bool is_measured = false;

	for (uint32_t i = 0; i < b; i++)
		r.before += v->values[i] / b;
	for (uint32_t i = 0; i < a; i++)
		r.after += v->values[b + i] / a;
	for (uint32_t i = 0; i < b && b > 1; i++)
		r.spread += pow(v->values[i] - r.before, 2) / (b - 1);
	for (int side = 0; side < SIDES; side++) {
		is_measured |= v->sides[side].measured > 0;
		/* the spread of several runs includes that of durations */
		r.counting[side] =
			(v->sides[side].sampled + (b > 1 ? 0 : v->sides[side].measured)) /
			v->runs[side];
	}
	r.is_sampled = !is_measured && r.counting[SIDE_BEFORE] + r.counting[SIDE_AFTER] > 0;
	/* a single run of an operation shows no spread */
	r.has_bound =
		b > 1 || (!v->is_one_value && (!is_measured || v->sides[SIDE_BEFORE].count > 1 ||
					       v->sides[SIDE_AFTER].count > 1));
	r.bound = r.has_bound ? rise_bound(&r, 1, b) : 0;
	return r;
}

/*
 * Returns the part of the spread that comes from counting: all of it, unless counting makes less in
 * 19 of 20 cases. The variance of n runs is distributed as chi-square with n - 1 degrees of
 * freedom. Its limit is 1 and twice the deviation sqrt(2 / (n - 1)).
 */
static double counted_spread(const struct rise *r)
{
	const double counting = r->counting[SIDE_BEFORE];
	const double freedom = r->runs[SIDE_BEFORE] - 1;

	return r->spread <= counting * (1 + 2 * sqrt(2 / freedom)) ? r->spread : counting;
}

double rise_bound(const struct rise *r, double samples, uint32_t runs_before)
{
	double n = runs_before, a = r->runs[SIDE_AFTER];
	double counting = (r->counting[SIDE_BEFORE] / n + r->counting[SIDE_AFTER] / a) / samples;
	double bound = NORMAL * sqrt(counting), counted, runs;

	if (r->runs[SIDE_BEFORE] < 2)
		return bound;
	counted = counted_spread(r);
	runs = (r->spread - counted + counted / samples) * (1 / n + 1 / a);
	return fmax(bound, student_quantile(SIGNIFICANCE_LEVEL, n - 1) * sqrt(runs));
}

double rise_samples_needed(const struct rise *r, double target)
{
	double samples = 1;

	if (r->counting[SIDE_BEFORE] + r->counting[SIDE_AFTER] <= 0)
		return 0;
	while (samples <= RISE_SAMPLES_MAX && rise_bound(r, samples, r->runs[SIDE_BEFORE]) > target)
		samples *= STEP;
	return samples <= RISE_SAMPLES_MAX ? samples : 0;
}

uint32_t rise_runs_needed(const struct rise *r, double target)
{
	uint32_t runs = r->runs[SIDE_BEFORE];

	if (runs < 2)
		return 0;
	while (runs <= COMPARISON_RUNS_MAX && rise_bound(r, 1, runs) > target)
		runs++;
	return runs <= COMPARISON_RUNS_MAX ? runs : 0;
}
