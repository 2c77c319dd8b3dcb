/* SPDX-License-Identifier: MIT */
/* Measures the times of steps: their spread, the slowest one, and drift. Times are in ns. */
#ifndef PROFILER_FINDINGS_STEP_TIMES_H
#define PROFILER_FINDINGS_STEP_TIMES_H

#include <stdint.h>

struct step_times {
	uint64_t median_ns, fastest_ns, slowest_ns;
	uint64_t p10_ns, p90_ns; /* 8 of 10 steps take between these times */
	uint32_t slowest;        /* number of the slowest step, from 0 */
	/* median of the last tenth by that of the first tenth, less 1; 0.05: 5 % longer */
	double drift;
};

/*
 * Measures the steps after the first `warm_up` ones. Step i is from starts_ns[i] to starts_ns[i +
 * 1]. Returns 0 or -ENOMEM.
 */
int step_times_measure(struct step_times *times, const uint64_t *starts_ns, uint32_t count,
		       uint32_t warm_up);

/*
 * Returns how many of the first steps are warm-up: they took half as long again as the median of
 * the second half of the steps, and longer than three of four of these. At most half of the steps
 * are.
 */
uint32_t step_times_warm_up(const uint64_t *starts_ns, uint32_t count);

#endif
