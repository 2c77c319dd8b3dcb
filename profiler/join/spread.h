/* SPDX-License-Identifier: MIT */
/*
 * Distributes the work of launches without a stack (--max-overhead) over the stacks of samples.
 *
 * Pure: no I/O, no clock, no names. A kind of work is a kernel's name, in a graph also the stack
 * that created its node. Work that a thread launched without a stack is parked, as sums, under a
 * stack of its kind, the base. Work of that base whose launch had a stack is a sample. Its launch
 * represents n launches (stack_sampler.h): itself, and n - 1 launches without a stack.
 *
 * Parked work is distributed in proportion to the work that samples represent. Operations are
 * distributed by the sum of n - 1. Their time is distributed by the sum of (n - 1) * ns over the
 *stacks that get operations. Bytes are distributed by the sum of (n - 1) * bytes. The samples of
 *the first of these sets that represents any work decide:
 *
 *	samples of the thread
 *	samples of all threads of the process
 *	samples of the thread, each representing itself too
 *	samples of all threads of the process, each representing itself too
 *
 * Without any sample, parked work stays at its base. Sums are exact: each operation, ns and byte is
 * moved once. Few operations go to stacks in turn, so that rare stacks get their part over many
 * threads.
 *
 * The standard error of a stack's work is known where a thread's own samples decided. Samples
 * represent the time v = (n - 1) * ns, of which the stack has the part p. Each launch is sampled
 * independently, with probability 1 / n. Then, with sums over samples:
 *
 *	error^2 = (1 - p)^2 * sum over the stack of n (n - 1) ns^2
 *		+ p^2 * sum over the other stacks of n (n - 1) ns^2
 *
 * The estimate is a ratio of two sums, and this is its variance by linearization (Cochran, Sampling
 * Techniques, ch. 6). Errors of one stack on several threads add up as squares. A launch site
 * without a sample is not included. With k samples, a site with more than 3 / k of the launches is
 * sampled with a probability of 95 %.
 *
 * Memory is bounded by `max` and a quota. When it is full, parked work is distributed by the
 * samples so far. From then on samples are kept by process alone.
 */
#ifndef PROFILER_JOIN_SPREAD_H
#define PROFILER_JOIN_SPREAD_H

#include <stdbool.h>
#include <stdint.h>
#include "profiler/base/quota.h"
#include "profiler/model/id_remap.h"
#include "symbolize/util/record_set.h"

/* Limit of parked sums, and of stacks with samples. */
#define SPREAD_MAX (1u << 18)

struct spread_work {
	uint64_t count, ns, bytes;
};

/* Receives work that moves from the base to a stack, at one place. */
struct spread_output {
	void (*move)(void *context, struct stack_id base, struct place_id place,
		     struct stack_id stack, const struct spread_work *work);
	void *context;
};

struct spread_stats {
	struct spread_work parked;   /* all parked work */
	struct spread_work borrowed; /* part without a known error */
	struct spread_work left;     /* part without any sample */
	double variance;             /* greatest variance of a stack, ns^2 */
};

/* Process, kind and thread of work; compared as bytes. */
struct spread_key {
	uint32_t process;
	struct stack_id base;
	uint32_t thread;
};

struct spread {
	struct spread_output output;
	struct quota *memory; /* borrowed; NULL: no limit */
	uint32_t max;         /* spread_init sets SPREAD_MAX */
	RECORD_SET(struct spread_sample) samples;
	RECORD_SET(struct spread_parked) parked;
	uint32_t samples_paid, parked_paid; /* maximum numbers so far, charged to the quota */
	bool is_coarse;                     /* the tables were full: samples are kept by process */
	struct spread_stats stats;
};

void spread_init(struct spread *s, const struct spread_output *output);
void spread_release(struct spread *s);

/* Adds a sample with this stack, whose launch represents `stands_for` launches, at least 1. */
void spread_add_sample(struct spread *s, const struct spread_key *key, struct stack_id stack,
		       uint32_t stands_for, uint64_t ns, uint64_t bytes);

/* Parks work without a stack, which the caller has added to the base at this place. */
void spread_park(struct spread *s, const struct spread_key *key, struct place_id place, uint64_t ns,
		 uint64_t bytes);

/* Distributes all parked work, at the end of the input. */
void spread_finish(struct spread *s);

#endif
