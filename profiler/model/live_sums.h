/* SPDX-License-Identifier: MIT */
/*
 * Sums the rows of a run while it goes on, for --live: GPU work by kernel or kind, GPU work by
 * launch site, CPU time by place in code. Frames have no names yet.
 *
 * A pass over all rows is made in small steps, between which the run goes on. A row that changes
 * during a pass counts with its old or its new value. The caller decides when to start a pass: its
 * cost, `spent_ns`, is proportional to the number of rows. Each distinct stack is walked once in
 * the whole run. With --last, a pass sums the items of the last seconds instead.
 *
 * A launch site is the innermost Python function in the outermost part of a launch's stack. Without
 * Python, the site is the innermost frames of that part, LIVE_SITE_FRAMES at most; their names show
 * later which frame is the caller.
 *
 * Memory: 4 bytes per stack, 24 per frame, 80 per launch site. Out of memory, sums are too low, and
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
	/*
	 * innermost first; only the innermost frame of each stack counts; unused ones are
	 * STACK_EMPTY
	 */
	struct stack_id stacks[LIVE_SITE_FRAMES];
	struct live_sum sum;
};

/* One of the largest sums. */
struct live_pick {
	struct live_sum sum;
	/* as in struct live_site; kernels and functions use only the first */
	struct stack_id stacks[LIVE_SITE_FRAMES];
};

/* Zero-initialise: empty. */
struct live_sums {
	uint32_t next_row;
	uint64_t next_item;                 /* position among all items ever kept */
	uint64_t renumbered;                /* as in struct collected */
	struct live_sum whole[LIVE_TABLES]; /* totals of the pass */
	/* by frame number: kernels and functions have no common frames */
	struct live_frame_sum {
		struct live_sum sum;
		struct stack_id stack; /* a stack with this innermost frame */
	} * frames;
	uint32_t *listed; /* frames with a sum, in order of appearance */
	uint32_t frame_count, frame_capacity, listed_count, listed_capacity;
	uint32_t *site_of; /* by stack: its site + 1; 0: not determined yet */
	uint32_t stack_count, stack_capacity;
	RECORD_SET(struct live_site) sites;
	bool is_whole;
	uint64_t spent_ns; /* on the pass */
};

void live_sums_release(struct live_sums *s);

/* Starts a pass. */
void live_sums_begin(struct live_sums *s);

/*
 * Adds rows for about `timeout_ns`. Returns true if the pass is complete. Restarts the pass if
 * stacks were renumbered.
 */
bool live_sums_step(struct live_sums *s, const struct collected *in, uint64_t timeout_ns);

/* Returns whether the sums refer to the current numbers of stacks. */
bool live_sums_are_of(const struct live_sums *s, const struct collected *in);

/*
 * Stores the largest sums of a complete pass in `picks`, at most `max`, longest first. Returns
 * their number.
 */
uint32_t live_sums_pick(struct live_sums *s, const struct collected *in, enum live_table table,
			struct live_pick *picks, uint32_t max);

#endif
