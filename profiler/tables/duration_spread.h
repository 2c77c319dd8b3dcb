/* SPDX-License-Identifier: MIT */
/*
 * How much the durations of GPU operations and CUDA calls below one stack vary, by the timeline of
 * a run: what comparison.h needs for the noise of a single run. Durations are in ns, variances in
 * ns^2.
 */
#ifndef PROFILER_TABLES_DURATION_SPREAD_H
#define PROFILER_TABLES_DURATION_SPREAD_H

#include <stdint.h>
#include "profiler/model/result.h"

struct duration_spread {
	uint64_t count;
	double mean, squares; /* of the differences from the mean (Welford) */
	double cut; /* variance by chance: where the shown time cut what began before its end */
};

/* The spreads of one run, by the numbers of its stacks; NULL: there is no timeline. */
struct duration_spreads {
	struct duration_spread *operations, *calls;
	double relative; /* variance of operations by the square of their mean; 1: unknown */
	double sample;   /* variance of one CPU sample */
};

/* Reads the timeline. 0 or an error number; to be released in any case. */
int duration_spreads_read(struct duration_spreads *spreads, const struct result *result);
void duration_spreads_release(struct duration_spreads *spreads);

/*
 * The variance of `sum`, that of `count` durations; `relative`: what to take for it where `spread`
 * (or NULL) has fewer than two, as in duration_spreads. Without any durations, the sum is what a
 * cut left of one that began before the time that is shown: all of it is chance.
 */
double duration_spread_variance(const struct duration_spread *spread, double relative,
				uint64_t count, double sum);

#endif
