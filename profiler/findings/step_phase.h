/* SPDX-License-Identifier: MIT */
/*
 * Finds where in its cycle a loop's step begins, and the first launch of each step.
 *
 * A loop's anchors are somewhere in its cycle. Several signs tell where the body begins:
 *  - the first launch that has a typical token, going back from the first anchor;
 *  - the last such launch, going forward from the last anchor: the body ends there;
 *  - a place where other work is done between steps now and then, such as an evaluation;
 *  - the longest pause in the cycle, if it is much longer than all others.
 * Signs that agree count together. The first two say less if nothing is launched before or after
 * the loop: the profiler may have been attached in the middle of a step.
 */
#ifndef PROFILER_FINDINGS_STEP_PHASE_H
#define PROFILER_FINDINGS_STEP_PHASE_H

#include <stdint.h>
#include "profiler/findings/step_loop.h"

struct step_starts {
	/* positions: the first launch of each step; has room for as many and one uint64_t */
	uint32_t *list;
	uint32_t count;
	uint32_t end;   /* position of the last launch of the last step */
	double weight;  /* sum of the signs that tell where steps begin */
	uint32_t begin; /* position of the loop's first launch, maybe of an incomplete step */
};

/* Finds the complete steps of a loop that was found. Returns 0 or -ENOMEM. Free `list`. */
int step_phase_find(struct step_starts *starts, struct step_loop *loop);

#endif
