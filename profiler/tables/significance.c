// SPDX-License-Identifier: MIT
#include "profiler/tables/significance.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>

/* Returns the logarithm; lgamma() would write the sign into a global variable. */
static double log_gamma(double x)
{
	int sign;

	return lgamma_r(x, &sign);
}

/* Returns the continued fraction of DLMF 8.17.22, by the modified method of Lentz. */
static double beta_fraction(double a, double b, double x)
{
	const double tiny = 1e-300;
	double c = 1, d = 1 - (a + b) * x / (a + 1), sum;
	/* terms grow as sqrt(max(a, b)) */
	double steps = 200 + 20 * sqrt(fmax(a, b));

	d = 1 / (fabs(d) < tiny ? tiny : d);
	sum = d;
	for (double m = 1; m <= steps; m++) {
		double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
		double factor;

		d = 1 + even * d;
		c = 1 + even / c;
		d = 1 / (fabs(d) < tiny ? tiny : d);
		c = fabs(c) < tiny ? tiny : c;
		sum *= d * c;
		d = 1 + odd * d;
		c = 1 + odd / c;
		d = 1 / (fabs(d) < tiny ? tiny : d);
		c = fabs(c) < tiny ? tiny : c;
		factor = d * c;
		sum *= factor;
		if (fabs(factor - 1) < 4 * DBL_EPSILON)
			break;
	}
	return sum;
}

/* Returns the regularized incomplete beta function I_x(a, b), a and b above 0. */
static double beta_regularized(double a, double b, double x)
{
	double front;

	if (x <= 0)
		return 0;
	if (x >= 1)
		return 1;
	front = exp(log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * log(x) + b * log1p(-x));
	if (x < (a + 1) / (a + b + 2))
		return front * beta_fraction(a, b, x) / a;
	return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

/* Returns twice the smaller of two tails. */
static double two_sided(double lower, double upper)
{
	return fmin(1, 2 * fmax(0, fmin(lower, upper)));
}

double significance_of_counts(uint64_t a, uint64_t b, double exposure_a, double exposure_b)
{
	double p = exposure_a / (exposure_a + exposure_b), x = (double)a, y = (double)b;
	/* P(X <= a) = I_{1-p}(n - a, a + 1); P(X >= a) = I_p(a, n - a + 1): DLMF 8.17.5 */
	double lower = b == 0 ? 1 : beta_regularized(y, x + 1, 1 - p);
	double upper = a == 0 ? 1 : beta_regularized(x, y + 1, p);

	return two_sided(lower, upper);
}

static double log_choose(double n, double k)
{
	return log_gamma(n + 1) - log_gamma(k + 1) - log_gamma(n - k + 1);
}

/*
 * Adds the probabilities of `x` and of all beyond it, in steps of `step` (1 or -1). Terms fall
 * faster than a geometric series beyond the mode; before it, the other tail is the smaller one.
 */
static double hypergeometric_tail(double x, double of, double drawn, double all, double step)
{
	double term =
		exp(log_choose(of, x) + log_choose(all - of, drawn - x) - log_choose(all, drawn));
	double sum = 0;

	while (term > 0) {
		double last = sum;

		sum += term;
		if (sum == last || sum >= 1)
			break;
		if (step > 0)
			term *= (of - x) * (drawn - x) / ((x + 1) * (all - of - drawn + x + 1));
		else
			term *= x * (all - of - drawn + x) / ((of - x + 1) * (drawn - x + 1));
		x += step;
	}
	return fmin(sum, 1);
}

double significance_of_shares(uint64_t a, uint64_t all_a, uint64_t b, uint64_t all_b)
{
	double x = fmin((double)a, (double)all_a), y = fmin((double)b, (double)all_b);
	double na = (double)all_a, all = na + (double)all_b, of = x + y;
	double mean = all > 0 ? of * na / all : 0, tail;

	if (all_a == 0 || all_b == 0 || of == 0 || x == mean)
		return 1;
	/* the tail away from the mean is the smaller tail, or near 0.5 */
	tail = hypergeometric_tail(x, of, na, all, x > mean ? 1 : -1);
	return two_sided(tail, 1);
}

double significance_of_normal(double deviate)
{
	return erfc(fabs(deviate) / sqrt(2));
}

double significance_of_student(double t, double freedom)
{
	if (isinf(t))
		return 0;
	return beta_regularized(freedom / 2, 0.5, freedom / (freedom + t * t));
}

double student_quantile(double probability, double freedom)
{
	double low = 0, high = 1;

	while (significance_of_student(high, freedom) / 2 > probability && high < 1e12)
		high *= 2;
	for (int i = 0; i < 200 && high - low > 1e-12 * high; i++) {
		double middle = (low + high) / 2;

		if (significance_of_student(middle, freedom) / 2 > probability)
			low = middle;
		else
			high = middle;
	}
	return (low + high) / 2;
}

static int by_probability(const void *a, const void *b, void *probabilities)
{
	double x = ((const double *)probabilities)[*(const uint32_t *)a];
	double y = ((const double *)probabilities)[*(const uint32_t *)b];

	return x < y ? -1 : x > y;
}

int significance_control(double *p, uint32_t count)
{
	uint32_t *order = malloc((count + 1u) * sizeof(*order));
	double least = 1;

	if (!order)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		order[i] = i;
	if (count > 0)
		qsort_r(order, count, sizeof(*order), by_probability, p);
	for (uint32_t i = count; i-- > 0;) {
		least = fmin(least, p[order[i]] * count / (i + 1));
		p[order[i]] = least;
	}
	free(order);
	return 0;
}
