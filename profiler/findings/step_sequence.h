/* SPDX-License-Identifier: MIT */
/*
 * Numbers the launches of one thread for the search of its steps, and lists where each token is.
 *
 * A sequence has a token for each position. Tokens are numbered from 0 in the order of their first
 * launch. Tokens of fewer than STEP_TOKEN_MIN launches have one number, STEP_RARE: no step is found
 * by them.
 *
 * A sequence takes 8 bytes for each launch, and 4 for each token.
 */
#ifndef PROFILER_FINDINGS_STEP_SEQUENCE_H
#define PROFILER_FINDINGS_STEP_SEQUENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "profiler/findings/step_finder.h"

#define STEP_TOKEN_MIN 4u
#define STEP_RARE 0u
#define STEP_NONE UINT32_MAX

/* Numbers of all tokens of a run. */
struct step_numbers {
	const uint32_t *kinds; /* the number in place of each token, set by the caller; or NULL */
	uint32_t *numbers;     /* by launch; NULL: kinds are their numbers */
	uint32_t count;
	uint32_t *state; /* for each number, while a sequence is made; else zero */
};

/* Returns 0 or -ENOMEM. The caller calls step_numbers_release() in either case. */
int step_numbers_init(struct step_numbers *numbers, const struct step_launch *launches,
		      uint32_t count);
void step_numbers_release(struct step_numbers *numbers);

struct step_sequence {
	const struct step_launch *launches; /* launches of all threads */
	uint32_t launch_count;
	const uint32_t *process_of; /* by thread */
	uint32_t thread_count;
	const uint32_t *order; /* launch at each position; NULL: positions are launches */
	uint32_t *tokens;      /* by position */
	uint32_t count;
	uint32_t token_count; /* with STEP_RARE */
	uint32_t *offsets;    /* `token_count` + 1: where the positions of each token begin */
	uint32_t *positions;
};

/*
 * Makes a sequence of `count` launches. The caller has set the members
 * above `tokens`, and `count`. Returns 0, or -ENOMEM. The caller calls step_sequence_release() in
 * either case.
 */
int step_sequence_init(struct step_sequence *sequence, struct step_numbers *numbers);
void step_sequence_release(struct step_sequence *sequence);

/* Returns the launch at a position. */
static inline uint32_t step_launch_at(const struct step_sequence *sequence, uint32_t position)
{
	return sequence->order ? sequence->order[position] : position;
}

static inline uint64_t step_time_at(const struct step_sequence *sequence, uint32_t position)
{
	return sequence->launches[step_launch_at(sequence, position)].start_ns;
}

/* Returns the time between two positions, or 0 if it is negative. */
static inline uint64_t step_time_between(const struct step_sequence *sequence, uint32_t from,
					 uint32_t to)
{
	uint64_t start = step_time_at(sequence, from), end = step_time_at(sequence, to);

	return end > start ? end - start : 0;
}

/* Returns the time since the launch before by any thread of the process; 0 for the first one. */
uint64_t step_pause_before(const struct step_sequence *sequence, uint32_t position);

/* Returns whether other threads of the process launch shortly before or after a position. */
bool step_has_other_before(const struct step_sequence *sequence, uint32_t position);
bool step_has_other_after(const struct step_sequence *sequence, uint32_t position);

static inline uint32_t step_token_uses(const struct step_sequence *sequence, uint32_t token)
{
	return sequence->offsets[token + 1] - sequence->offsets[token];
}

#endif
