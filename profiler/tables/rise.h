/* SPDX-License-Identifier: MIT */
/*
 * Tests whether the rise from the runs before a change to those after is more than chance.
 *
 * Also finds how many samples or runs a verdict would need, if the noise is too large. Pure
 * functions. Amounts have the unit of the values.
 *
 * Several runs before show how runs differ. The bound is the upper limit of the prediction interval
 * for the mean of the runs after: by Student's t, one-sided, at 95 % (Hahn and Meeker 1991,
 * Statistical Intervals, section 4.7). It is at least the bound of counting samples. The variance
 * of the runs after is not used: a change may make them differ more.
 *
 * One run before does not show how runs differ. The bound is the variation of its samples or
 * durations. There is no bound if they show none.
 *
 * Only a part of the difference between runs comes from samples. More samples, by a higher rate or
 * longer runs, reduce that part. More runs before reduce all of it.
 */
#ifndef PROFILER_TABLES_RISE_H
#define PROFILER_TABLES_RISE_H

#include <stdbool.h>
#include <stdint.h>
#include "profiler/tables/change.h"

struct rise {
	uint32_t runs[SIDES];
	double before, after;   /* means */
	double spread;          /* variance of the runs before; 0 for one run */
	double counting[SIDES]; /* variance of one run by its own samples and durations */
	bool is_sampled;        /* the variance comes from samples alone */
	bool has_bound;
	double bound; /* bound of the difference */
};

struct rise rise_of(const struct run_values *values);

/*
 * Returns the bound with `samples` times as many samples, and `runs_before` runs before. Change
 * `runs_before` only if there are several runs.
 */
double rise_bound(const struct rise *rise, double samples, uint32_t runs_before);

/*
 * Returns the factor of samples, or of operations, that makes the bound `target` at most. Returns 0
 * if RISE_SAMPLES_MAX does not suffice, or if samples have no effect.
 */
#define RISE_SAMPLES_MAX 100
double rise_samples_needed(const struct rise *rise, double target);

/*
 * Returns the number of runs before that makes the bound `target` at most; 0 if COMPARISON_RUNS_MAX
 * does not suffice, or for a single run.
 */
uint32_t rise_runs_needed(const struct rise *rise, double target);

#endif
