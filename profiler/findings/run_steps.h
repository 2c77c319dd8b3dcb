/* SPDX-License-Identifier: MIT */
/*
 * Finds the steps of a run, from its timeline: by repeated launches, or by the user's NVTX ranges.
 *
 * Repeated launches are those of step_finder.h: alike by their stacks; if that tells too little, by
 * their kernels, too; and then by whether the thread waited for them.
 *
 * Steps by ranges are of the thread with most launches in ranges of that name. A step begins with a
 * launch in a range, after one of the thread outside, or in a range of another name. Launches tell
 * no more: a range that is left and entered without a launch between is one range. If such ranges
 * hold two steps or more on average by repeated launches, each of these is a step. The last step
 * ends just after its last launch in a range.
 *
 * Times are in ns, CLOCK_MONOTONIC.
 */
#ifndef PROFILER_FINDINGS_RUN_STEPS_H
#define PROFILER_FINDINGS_RUN_STEPS_H

#include "profiler/findings/schedule.h"
#include "profiler/findings/step_finder.h"
#include "profiler/model/result.h"
#include "profiler/shape/slice.h"

/* Zero-initialised has no steps. */
struct run_steps {
	struct step_list steps;        /* the main loop first */
	const char *none;              /* why there are no steps; NULL if there are */
	struct schedule_thread thread; /* the thread that begins the first series */
};

/*
 * Finds the steps of a result with a timeline. `name` is a pattern for names of NVTX ranges, or has
 * a NULL text. Returns 0; or, without steps, -E2BIG if there are too many launches, -ENOMEM, or the
 * error of reading the timeline. The caller calls run_steps_release().
 */
int run_steps_find(struct run_steps *steps, const struct result *result,
		   const struct slice_match *name);
void run_steps_release(struct run_steps *steps);

#endif
