/* SPDX-License-Identifier: MIT */
/*
 * Tells regular numbers from random ones: gaps between events, in launches or in ns.
 *
 * A few very large numbers do not count, for a loop may have long pauses.
 */
#ifndef PROFILER_FINDINGS_STEP_SCATTER_H
#define PROFILER_FINDINGS_STEP_SCATTER_H

#include <stdbool.h>
#include <stdint.h>

/* Gaps between random events, for some chances of an event. */
#define STEP_CHANCES 64u
struct step_random {
	double scatter[STEP_CHANCES + 1];
};

void step_random_init(struct step_random *random);

/*
 * Returns how much numbers scatter: the mean difference between two of them, as a share of their
 * mean. The largest sixteenth of them is left out, and no number counts as more than three medians.
 * Sorts the numbers. `mean` receives the mean of those that are left.
 */
double step_scatter(uint64_t *numbers, uint32_t count, double *mean);

/* Returns the scatter of the gaps between random events, from the mean of such gaps. */
double step_random_scatter(const struct step_random *random, double mean);

/*
 * Returns by how many standard deviations `scatter` is less than that of `count` random gaps with
 * this mean.
 */
double step_regularity(const struct step_random *random, double scatter, double mean,
		       uint32_t count);

/*
 * Returns whether times scatter less than those between random arrivals: their median deviation
 * from the median is at most the share `most` of the median, and few are very short. Sorts the
 * times, and leaves other numbers in their place.
 */
bool step_times_regular(const struct step_random *random, uint64_t *times, uint32_t count,
			double most);

#endif
