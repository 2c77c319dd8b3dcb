/* SPDX-License-Identifier: MIT */
/*
 * What threads did while they waited for the GPU, by what ran there meanwhile (--wall; CPU samples
 * with --waits, too).
 *
 * The time of a thread is in the profile already: blocked, waiting for a CPU, or computing, if CUDA
 * spins. What of it lies in a call that waits for the GPU is moved below its own stack, there,
 * piece by piece as `waits` decides. So sums stay as they are: a row only gets parts.
 *
 *   call; ...; [blocked: poll]; [waiting for GPU]; kernel; launched at; launch stack
 *   call; ...; [spinning for GPU]; kernel; launched at; launch stack
 *
 * A sample at a moment at which nothing ran on the GPU stays where it is: there the call computes,
 * as one that allocates does.
 *
 * A CPU sample stands for its moment: it belongs to one piece as a whole. Times off the CPU without
 * a moment, which were spread over a stack, are split at the end like those of the same thread and
 * stack that have one.
 *
 * Bounded: WAIT_TIMES_MAX times are kept, of all threads, until the waits are decided that they may
 * belong to; sums take from the quota. Of more the oldest half is forgotten, and stays where it
 * is; so does a time without memory for its sum, and what takes more steps than waits that do not
 * overlap can take. Each wait that this may concern is counted once (`cut`). No I/O. Times are in
 * ns, CLOCK_MONOTONIC.
 */
#ifndef PROFILER_ADDONS_WAIT_TIMES_H
#define PROFILER_ADDONS_WAIT_TIMES_H

#include <stdbool.h>
#include <stdint.h>
#include "profiler/addons/waits.h"
#include "profiler/base/quota.h"
#include "profiler/model/gpu_stack.h"
#include "profiler/model/profile.h"
#include "symbolize/util/record_set.h"

#define WAIT_TIMES_MAX (1u << 16)

/* In a row of the profile. */
struct wait_time {
	uint64_t start_ns, end_ns; /* equal: a moment, that of a CPU sample */
	uint64_t ns;               /* what it has in the row */
	uint32_t process, tid;
	enum row_kind kind;
	struct stack_id stack;
	struct place_id place;
	bool counts; /* set by wait_times_add: the row has its one; it goes where its work is */
};

/* Zero-initialise, then set the first three. */
struct wait_times {
	struct profile *profile;       /* borrowed */
	struct gpu_stacks *gpu_stacks; /* borrowed */
	struct quota *memory;          /* borrowed; NULL: no limit */
	uint32_t most;                 /* times that are kept; 0: WAIT_TIMES_MAX */
	struct wait_time *times;
	uint32_t count, capacity, paid;
	bool is_sorted;
	uint32_t steps_left;
	uint64_t forgotten_ns;            /* what ended by then may be missing */
	RECORD_SET(struct wait_row) rows; /* whose times off the CPU have moments, or were spread */
	RECORD_SET(struct wait_part) parts; /* of these rows, where they were moved to */
	uint64_t cut;
	struct waits_wait last_cut;
};

void wait_times_release(struct wait_times *w);

/* A time that has been added to the profile. */
void wait_times_add(struct wait_times *w, const struct wait_time *time);

/* So much was added to the row of times off the CPU, of moments that are not known. */
void wait_times_spread(struct wait_times *w, struct stack_id stack, struct place_id place,
		       uint64_t ns);

/* The thread waited for that work from then on, for so long (waits.h); NULL: nothing ran. */
void wait_times_split(struct wait_times *w, const struct waits_wait *wait,
		      const struct gpu_work_origin *origin, uint64_t from_ns, uint64_t ns);

/* All waits are decided: splits what was spread. */
void wait_times_finish(struct wait_times *w);

#endif
