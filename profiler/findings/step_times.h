/* SPDX-License-Identifier: MIT */
/* Measures the times of steps: their spread, the slowest one, and drift. Times are in ns. */
#ifndef PROFILER_FINDINGS_STEP_TIMES_H
#define PROFILER_FINDINGS_STEP_TIMES_H

#include <stdint.h>
#include "profiler/findings/step_finder.h"

struct step_times {
	uint64_t median_ns, fastest_ns, slowest_ns;
	uint64_t p10_ns, p90_ns; /* 8 of 10 steps take between these times */
	uint32_t slowest;        /* number of the slowest step, from 0 */
	/* median of the last tenth by that of the first tenth, less 1; 0.05: 5 % longer */
	double drift;
};

/* Measures the steps after warm-up. Returns 0 or -ENOMEM. */
int step_times_measure(struct step_times *times, const struct step_series *series);

#endif
