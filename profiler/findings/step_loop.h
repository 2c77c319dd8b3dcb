/* SPDX-License-Identifier: MIT */
/*
 * Finds the outermost loop in the launches of one thread.
 *
 * An anchor is a token, or a pair of tokens in sequence, that occurs once in each step. It cuts the
 * sequence into segments, from one anchor to the next. An anchor is accepted if
 *  - the gaps between anchors, in launches, scatter less than those between random events;
 *  - most segments are alike: they have most of the typical tokens, which at least half of the
 *    segments have, and little else;
 *  - the times of the segments scatter less than those between random arrivals. If much of the run
 *    is long pauses, the times between these pauses do so, too;
 *  - the typical tokens cover enough launches (step_finder.h).
 *
 * The rarest accepted anchor is that of the outermost loop. But a token that some of
 * the steps have at random is no loop around them. Neither is one with hardly any work of its own,
 * such as reading the loss each 50 steps.
 *
 * Long runs are judged by samples of their segments. The search examines all launches at most
 * STEP_SEARCH_PASSES times, or more often if they are few.
 */
#ifndef PROFILER_FINDINGS_STEP_LOOP_H
#define PROFILER_FINDINGS_STEP_LOOP_H

#include <stdbool.h>
#include <stdint.h>
#include "profiler/findings/step_scatter.h"
#include "profiler/findings/step_sequence.h"

#define STEP_SEARCH_PASSES 16u
#define STEP_SAMPLES 64u   /* segments that tell what is typical */
#define STEPS_WEAK_MIN 50u /* percent of launches: enough for one thread of several */

/* Use of a token in the sampled segments. */
struct step_token_use {
	uint32_t segments; /* number of those that have it */
	uint32_t most;     /* launches in a segment */
	uint32_t usual;    /* launches in most segments that have it, if there is such a number */
	uint32_t votes;    /* while `usual` is elected */
	uint32_t same;     /* segments with `usual` launches */
	uint32_t stamp, now;
	bool is_typical; /* at least half of the segments have it */
	bool is_stable;  /* nearly all of the segments have it as often */
};

struct step_loop {
	const struct step_sequence *sequence;
	uint32_t token, next;    /* the anchor; `next` is STEP_NONE for a token alone */
	const uint32_t *anchors; /* positions */
	uint32_t *own_anchors;   /* memory of `anchors`, or NULL */
	uint32_t count;
	uint32_t first, last; /* anchors between which segments are those of the loop */

	struct step_token_use *uses; /* by token */
	uint32_t stamp;              /* the latest in `uses` */
	uint32_t typical;            /* number of typical tokens */
	uint64_t weight;             /* sum of the segments that have each typical token */
	uint32_t length;             /* typical launches in a segment, the median */
	double stable;               /* share of a segment that nearly all have */
	uint64_t covered, launches;  /* typical ones, and all since the start-up */
	bool is_weak;                /* covers less than STEPS_COVERED_MIN percent */
};

/*
 * Finds the loop of a sequence. Without one, `count` is 0. Returns 0 or -ENOMEM. The caller calls
 * step_loop_release() in either case.
 */
int step_loop_find(struct step_loop *loop, const struct step_sequence *sequence,
		   const struct step_random *random);
void step_loop_release(struct step_loop *loop);

/* Returns the number of sampled segments. */
uint32_t step_loop_samples(const struct step_loop *loop);

/* Returns the anchor that begins the sampled segment `i`. */
uint32_t step_loop_sample(const struct step_loop *loop, uint32_t i);

#endif
