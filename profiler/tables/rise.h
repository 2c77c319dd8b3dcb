/* SPDX-License-Identifier: MIT */
/*
 * Tells whether the runs after a change take more than those before by chance, and what would tell
 * where chance is too large. Pure functions; amounts are in the unit of the values.
 *
 * Several runs before show how one run differs from the next. The bound is the upper limit of the
 * prediction interval for the mean of the runs after, by Student's t, one-sided at 95 % (Hahn and
 * Meeker 1991, Statistical Intervals, section 4.7), and at least that of counting samples. The runs
 * after have no part in it: a change may make them differ more.
 *
 * One run before does not show that. The bound is what its samples, or the durations in it, vary by
 * themselves; there is none where they do not tell.
 *
 * Of samples, only a part of the difference between runs is theirs: more samples, by a higher rate
 * or longer runs, make that part smaller. More runs before make the whole smaller.
 */
#ifndef PROFILER_TABLES_RISE_H
#define PROFILER_TABLES_RISE_H

#include <stdbool.h>
#include <stdint.h>
#include "profiler/tables/change.h"

struct rise {
	uint32_t runs[SIDES];
	double before, after;   /* means */
	double spread;          /* variance of the runs before; 0: one run */
	double counting[SIDES]; /* variance of one run by its own samples and durations */
	bool is_sampled;        /* these are samples, all of them */
	bool has_bound;
	double bound; /* of the difference */
};

struct rise rise_of(const struct run_values *values);

/* Returns the bound of a rise with so many times the samples, and so many runs before (as many as
 * there are, or both more than one). */
double rise_bound(const struct rise *rise, double samples, uint32_t runs_before);

/*
 * Returns how many times the samples (or what else has a duration) make the bound `target` at most.
 * 0: RISE_SAMPLES_MAX do not, or it is nothing that they change.
 */
#define RISE_SAMPLES_MAX 100
double rise_samples_needed(const struct rise *rise, double target);

/* Returns how many runs before do; 0: COMPARISON_RUNS_MAX do not, or there is but one. */
uint32_t rise_runs_needed(const struct rise *rise, double target);

#endif
