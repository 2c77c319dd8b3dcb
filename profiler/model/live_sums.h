/* SPDX-License-Identifier: MIT */
/*
 * The rows of a run summed up while it goes on, for --live: GPU work by kernel or kind, GPU work by
 * launch site, CPU time by place in code. Nothing has a name yet.
 *
 * A pass over all rows is made in small steps, between which the run goes on; a row that changes
 * meanwhile counts with what it had. The caller starts a pass when it pleases: the cost,
 * `spent_ns`, is in proportion to the number of rows. Each distinct stack is looked at once in the
 * whole run.
 *
 * With --last the sums are of the items of these seconds, as
 * they are when the pass comes to them.
 *
 * A launch site is the innermost Python function of the outermost part of a launch's stack, else
 * the innermost frames of that part, LIVE_SITE_FRAMES at most: which of those is the caller shows
 * when they have names.
 *
 * Memory: 4 bytes per stack, 24 per frame, 80 per launch site; out of memory, sums are too low, and
 * `is_whole` is false.
 */
#ifndef PROFILER_MODEL_LIVE_SUMS_H
#define PROFILER_MODEL_LIVE_SUMS_H

#include <stdbool.h>
#include <stdint.h>
#include "profiler/model/collected.h"
#include "symbolize/util/record_set.h"

#define LIVE_SITE_FRAMES 8u

enum live_table { LIVE_KERNELS, LIVE_SITES, LIVE_FUNCTIONS, LIVE_TABLES };

struct live_sum {
	uint64_t ns, count;
};

struct live_site {
	/* stacks whose innermost frames are meant, innermost first; the rest STACK_EMPTY */
	struct stack_id stacks[LIVE_SITE_FRAMES];
	struct live_sum sum;
};

/* One of the sums with the most time. */
struct live_pick {
	struct live_sum sum;
	/* as in struct live_site; for kernels and functions only the first one */
	struct stack_id stacks[LIVE_SITE_FRAMES];
};

/* Zero-initialised is empty. */
struct live_sums {
	uint32_t next_row;
	uint64_t next_item;                 /* of all that were ever kept */
	uint64_t renumbered;                /* as in struct collected */
	struct live_sum whole[LIVE_TABLES]; /* of the pass */
	/* by number of the frame: kernels and functions have no frame in common */
	struct live_sum *frames;
	struct stack_id *frame_stacks; /* one stack with that frame inside */
	uint32_t *listed;              /* the frames that have a sum, in order of appearance */
	uint32_t frame_capacity, listed_count, listed_capacity;
	uint32_t *site_of; /* by stack: its site + 1; 0: not looked at yet */
	uint32_t stack_capacity;
	RECORD_SET(struct live_site) sites;
	bool is_whole;
	uint64_t spent_ns; /* on the pass */
};

void live_sums_release(struct live_sums *s);

/* Starts a pass. */
void live_sums_begin(struct live_sums *s);

/*
 * Adds more rows, for about `timeout_ns`. True: the pass is complete. Begins anew where stacks
 * have new numbers.
 */
bool live_sums_step(struct live_sums *s, const struct collected *in, uint64_t timeout_ns);

/* Returns whether the sums are of stacks by the numbers that they have now. */
bool live_sums_are_of(const struct live_sums *s, const struct collected *in);

/*
 * The sums of a complete pass with the most time, longest first, `max` at most: how many. `picks`
 * has room for `max`.
 */
uint32_t live_sums_pick(struct live_sums *s, const struct collected *in, enum live_table table,
			struct live_pick *picks, uint32_t max);

#endif
