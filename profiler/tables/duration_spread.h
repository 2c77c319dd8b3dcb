/* SPDX-License-Identifier: MIT */
/*
 * Measures how much the durations of GPU operations and CUDA calls below one stack vary.
 *
 * comparison.h needs the spread for the noise of a single run. Reads the timeline of a run.
 * Durations are in ns, variances in ns^2.
 */
#ifndef PROFILER_TABLES_DURATION_SPREAD_H
#define PROFILER_TABLES_DURATION_SPREAD_H

#include <stdint.h>
#include "profiler/model/result.h"

struct duration_spread {
	uint64_t count;
	double mean, squares; /* `squares`: sum of squared deviations (Welford) */
	double cut;           /* variance of records cut by the time range */
};

/* The spreads of one run, by stack; NULL without a timeline. */
struct duration_spreads {
	struct duration_spread *operations, *calls;
	double relative; /* variance of operations over their squared mean; 1: unknown */
	double sample;   /* variance of one CPU sample */
};

/* Reads the timeline. Returns 0, or errno. Release the spreads in both cases. */
int duration_spreads_read(struct duration_spreads *spreads, const struct result *result);
void duration_spreads_release(struct duration_spreads *spreads);

/*
 * Returns the variance of `sum`, the sum of `count` durations. `relative` (duration_spreads)
 * replaces a `spread` that is NULL or has fewer than two durations. Without durations, `sum` is the
 * rest of an operation that began before the time range: all of it is chance.
 */
double duration_spread_variance(const struct duration_spread *spread, double relative,
				uint64_t count, double sum);

#endif
