/* SPDX-License-Identifier: MIT */
/*
 * Finds the steps that --step, --steady and --steps ask for, in a whole result.
 *
 * If there are several series of steps, those of the first one are taken: the one with most
 * launches.
 */
#ifndef PROFILER_COMMANDS_CHOSEN_STEPS_H
#define PROFILER_COMMANDS_CHOSEN_STEPS_H

#include "profiler/base/log.h"
#include "profiler/findings/run_steps.h"
#include "profiler/shape/view.h"

/* Zero-initialised has no steps. Not to be moved: the options refer to it. */
struct chosen_steps {
	struct view_options view; /* options with the times of the steps; borrows all it has */
	struct run_steps found;
	uint64_t *work_ns;        /* when GPUs began the work of each step: step_work.h */
	uint32_t first, end;      /* numbers of the chosen steps; the end is excluded */
	struct slice_range range; /* the launches; GPUs work from work_ns[first] to work_ns[end] */
};

/*
 * Copies the options, and finds the steps if they ask for any. Logs which they are. `subject` is
 * the run in messages: "the run", or a file. Returns false after logging the reason.
 */
bool chosen_steps_find(struct log *log, struct chosen_steps *steps, const struct result *result,
		       const struct view_options *options, const char *subject);
void chosen_steps_release(struct chosen_steps *steps);

#endif
