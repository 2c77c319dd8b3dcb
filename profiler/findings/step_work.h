/* SPDX-License-Identifier: MIT */
/*
 * Finds when GPUs did the work of each step.
 *
 * Steps are found by launches (run_steps.h), which may be far ahead of the GPU. A step lasts from
 * the first GPU work that it launched to that of the next step. The last step lasts until its work
 * has ended. A step without work begins with its launches. Times are in ns, CLOCK_MONOTONIC.
 */
#ifndef PROFILER_FINDINGS_STEP_WORK_H
#define PROFILER_FINDINGS_STEP_WORK_H

#include "profiler/findings/run_steps.h"
#include "profiler/findings/schedule.h"

/*
 * Finds the `count` + 1 times of a series, and which steps are warm-up by these times. `process` is
 * the process of the series. Returns NULL if out of memory. The caller frees the times.
 */
uint64_t *step_work_find(const struct operation_schedule *schedule, struct step_series *series,
			 uint32_t process);

/* Finds those of the first series, from the timeline. Returns 0 or -errno. */
int step_work_read(uint64_t **work_ns, const struct result *result, struct run_steps *steps);

#endif
