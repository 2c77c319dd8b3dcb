/* SPDX-License-Identifier: MIT */
/*
 * Spreads the work of launches that have no stack of their own (--max-overhead) over the stacks of
 * others. Pure: no I/O, no clock, no names.
 *
 * Work of one kind (a kernel's name, and in a graph where its node was made) that a thread launched
 * without a stack is parked, as sums, under a stack that says so: its base. Work of the same base
 * whose launch had a stack is a sample. Its launch stands for n launches (stack_sampler.h): for
 * itself and n - 1 of those without.
 *
 * What is parked is spread in proportion to what the samples stand for: operations by the sum of
 * n - 1; their time by the sum of (n - 1) * ns, of the stacks that get operations; bytes likewise.
 * Which samples: those of the same thread; if they stand for nothing but themselves, those of all
 * threads of the process; else the same two, each sample standing for one more. Without any sample
 * what is parked stays where it is. Sums are exact: operations, ns and bytes are moved, each once.
 * Few operations go to stacks in turn, so that rare ones get their part over many threads.
 *
 * The standard error of what a stack got, where a thread's own samples decided: with p the stack's
 * part of the time that all samples v = (n - 1) * ns stand for, and each launch taken with chance
 * 1 / n, independently,
 *
 *	error^2 = (1 - p)^2 * sum of n (n - 1) ns^2 of its own samples
 *		+ p^2 * the same sum of the other stacks' samples
 *
 * The estimate is a ratio of two sums, and this is its variance by linearization (Cochran, Sampling
 * Techniques, ch. 6). Errors of one stack on several threads add up as squares. A launch site that
 * no sample has seen is not in it: of k samples, one with more than 3 / k of the launches is seen
 * with 95 %.
 *
 * Memory is bounded (`max`, and an quota): when it is full, what is parked is spread by
 * what is known by then, and from then on samples are kept by process alone.
 */
#ifndef PROFILER_JOIN_SPREAD_H
#define PROFILER_JOIN_SPREAD_H

#include <stdbool.h>
#include <stdint.h>
#include "profiler/base/quota.h"
#include "profiler/model/id_remap.h"
#include "symbolize/util/hash_index.h"

/* Of parked sums, and of stacks with samples, each. */
#define SPREAD_MAX (1u << 18)

struct spread_work {
	uint64_t count, ns, bytes;
};

/* Takes what moves from the base, at a place, to a stack at the same place. */
struct spread_output {
	void (*move)(void *context, struct stack_id base, struct place_id place,
		     struct stack_id stack, const struct spread_work *work);
	void *context;
};

struct spread_stats {
	struct spread_work parked;   /* all that was */
	struct spread_work borrowed; /* of it, what no error is known of */
	struct spread_work left;     /* of it, without any sample */
	double variance;             /* of the stack with the greatest, in ns^2 */
};

/* Whose work it is; compared as bytes. */
struct spread_key {
	uint32_t process;
	struct stack_id base;
	uint32_t thread;
};

struct spread {
	struct spread_output output;
	struct quota *memory; /* borrowed; NULL: no limit */
	uint32_t max;         /* spread_init sets SPREAD_MAX */
	struct spread_sample *samples;
	uint32_t sample_count, sample_capacity, samples_paid;
	struct hash_index sample_index;
	struct spread_parked *parked;
	uint32_t parked_count, parked_capacity, parked_paid;
	struct hash_index parked_index;
	bool is_coarse; /* it was full */
	struct spread_stats stats;
};

void spread_init(struct spread *s, const struct spread_output *output);
void spread_release(struct spread *s);

/* A sample with this stack, whose launch stands for `stands_for` launches: at least 1. */
void spread_add_sample(struct spread *s, const struct spread_key *key, struct stack_id stack,
		       uint32_t stands_for, uint64_t ns, uint64_t bytes);

/* Work without a stack, which the caller has added to the base at this place. */
void spread_park(struct spread *s, const struct spread_key *key, struct place_id place, uint64_t ns,
		 uint64_t bytes);

/* The input has ended: spreads all. */
void spread_finish(struct spread *s);

#endif
