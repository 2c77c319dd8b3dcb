/* SPDX-License-Identifier: MIT */
/*
 * Compares the slowest steps of a run with typical ones (--slow-steps).
 *
 * The steps are those of --step, or else of --steady. The slowest tenth is the side after; steps
 * around the median, up to half of all, are the side before. Each step is a run of its side
 * (comparison.h), so the bound of noise comes from how steps differ. A side has
 * COMPARISON_RUNS_MAX steps at most: of a larger tenth, the slowest.
 */
#ifndef PROFILER_COMMANDS_SLOW_STEPS_H
#define PROFILER_COMMANDS_SLOW_STEPS_H

#include "profiler/base/log.h"
#include "profiler/base/quota.h"
#include "profiler/shape/view.h"
#include "profiler/tables/comparison.h"

#define SLOW_STEPS_MIN 4u /* fewer steps are not compared */

struct slow_steps;

/*
 * Compares steps of a whole result, which must outlive the comparison. Each step is viewed with the
 * options. `folder` is for timelines. `shown` is the side whose times pictures have. Logs which
 * steps they are. Returns NULL after logging the reason.
 */
struct slow_steps *slow_steps_new(struct log *log, const struct result *result,
				  const struct view_options *options, enum comparison_side shown,
				  const char *folder, struct quota *memory);
void slow_steps_free(struct slow_steps *slow);

const struct comparison *slow_steps_comparison(const struct slow_steps *slow);

#endif
