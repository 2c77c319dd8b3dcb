/* SPDX-License-Identifier: MIT */
/*
 * Estimates the standard error of sums over periods of time, of which a part was recorded.
 *
 * A sum is the amount of all periods; each adds what its window represents (duty_schedule.h).
 * Amounts of consecutive periods are added up in batches, at most BATCH_MEANS_MAX of them. When a
 * run gets longer, pairs of batches become one. So memory is bounded, and amounts may come in any
 * order.
 *
 * The windows are one random sample in each of n periods. The error is that of neighbours:
 *
 *	variance = n / (2 (n - 1)) * sum over batches of (b[i] - b[i + 1])^2
 *
 * This is too large where neighbouring periods differ, and never too small on average (Wolter,
 * Introduction to Variance Estimation, ch. 8). The error of a function of sums is that of its
 * linearization (Cochran, Sampling Techniques, ch. 6): of the batches' sum of derivative times
 * amount.
 *
 * Errors are half the width of an interval that has the true amount with a probability of 95 %: by
 * Student's distribution with 2/3 (n - 1) degrees of freedom.
 *
 * A sum that few windows have has no such interval, but an upper bound: that of a Poisson
 * distribution whose events are the windows, each of the mean amount. Its probability is 97.5 %.
 */
#ifndef PROFILER_ADDONS_BATCH_MEANS_H
#define PROFILER_ADDONS_BATCH_MEANS_H

#include <stdint.h>

#define BATCH_MEANS_MAX 64u
#define BATCH_MEANS_LEAST_WINDOWS 10u /* with fewer there is no interval */

/* Periods that all sums have. Zero-initialised: none. */
struct batch_axis {
	uint64_t begin_ns, period_ns; /* the first period; 0: unknown */
	uint64_t periods;             /* up to the last one noted */
	uint32_t shift;               /* a batch has 2^shift periods */
};

/* Zero-initialised: 0. */
struct batch_sum {
	double batches[BATCH_MEANS_MAX];
	uint32_t shift;
	uint32_t windows; /* number of windows that have a part of it */
	uint64_t last;    /* the latest period of these, plus 1 */
	uint64_t seen; /* bit n: they have the n-th period before it; earlier ones come no more */
};

/* Notes a period, which ends at `begin_ns` + `period_ns`. The first one defines the axis. */
void batch_axis_note(struct batch_axis *axis, uint64_t begin_ns, uint64_t period_ns);

/* Adds an amount at a time. Times outside the axis count in its first or last period. */
void batch_sum_add(struct batch_sum *sum, const struct batch_axis *axis, uint64_t time_ns,
		   double amount);

double batch_sum_total(const struct batch_sum *sum);

/* A sum and the factor by which a function depends on it. */
struct batch_term {
	struct batch_sum *sum; /* changes in its shift only */
	double factor;
};

/* Returns the error of the sum of all terms. Negative: unknown, for there are too few periods. */
double batch_error(const struct batch_axis *axis, const struct batch_term *terms, uint32_t count);

/* Returns the upper bound of a sum with few windows. */
double batch_sum_bound(const struct batch_sum *sum);

#endif
