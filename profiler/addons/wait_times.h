/* SPDX-License-Identifier: MIT */
/*
 * Splits threads' times during waits for the GPU by the work that ran meanwhile (--wall; CPU
 * samples with --waits, too). No I/O.
 *
 * The time of a thread is already in the profile: blocked, waiting for a CPU, or computing, if CUDA
 * spins. Time within a call that waits for the GPU is moved below its own stack, in the pieces of
 * waits.h. So sums do not change: a row only gets parts.
 *
 *   call; ...; [blocked: poll]; [waiting for GPU]; kernel; launched at; launch stack
 *   call; ...; [spinning for GPU]; kernel; launched at; launch stack
 *
 * A CPU sample is a moment: it belongs to one piece as a whole. A sample while nothing ran on the
 * GPU stays in place: there the call computes, for example to allocate. Times off the CPU without
 * known moments, which were spread over a stack, are split at the end. They are split like known
 * times of that thread and stack.
 *
 * Bounded: WAIT_TIMES_MAX times of all threads are kept until their waits are decided; sums are
 * charged to the quota. Beyond that, the oldest half is dropped and stays in place. A time without
 * memory for its sum stays in place, too. So does a time beyond the steps that non-overlapping
 * waits can take. Each wait that this may affect is counted once (`cut`).
 *
 * Times are in ns, CLOCK_MONOTONIC.
 */
#ifndef PROFILER_ADDONS_WAIT_TIMES_H
#define PROFILER_ADDONS_WAIT_TIMES_H

#include <stdbool.h>
#include <stdint.h>
#include "profiler/addons/waits.h"
#include "profiler/addons/addon.h"
#include "profiler/base/quota.h"
#include "profiler/model/gpu_stack.h"
#include "profiler/model/profile.h"
#include "symbolize/util/record_set.h"

#define WAIT_TIMES_MAX (1u << 16)

/* Zero-initialise, then set the first three. */
struct wait_times {
	struct profile *profile;       /* borrowed */
	struct gpu_stacks *gpu_stacks; /* borrowed */
	struct quota *memory;          /* borrowed; NULL: no limit */
	uint32_t most;                 /* largest number of kept times; 0: WAIT_TIMES_MAX */
	struct thread_time *times;
	uint32_t count, capacity, paid;
	bool is_sorted;
	uint32_t steps_left;
	uint64_t forgotten_ns;              /* times that ended by then may be missing */
	RECORD_SET(struct wait_row) rows;   /* rows with times off the CPU, known or spread */
	RECORD_SET(struct wait_part) parts; /* targets of these rows' times */
	uint64_t cut;
	struct waits_wait last_cut;
};

void wait_times_release(struct wait_times *w);

/* Adds a time that was added to the profile. */
void wait_times_add(struct wait_times *w, const struct thread_time *time);

/* Adds time without known moments that was added to a row of times off the CPU. */
void wait_times_spread(struct wait_times *w, struct stack_id stack, struct place_id place,
		       uint64_t ns);

/* Splits by a piece of a wait (waits.h). `origin` is NULL if nothing ran. */
void wait_times_split(struct wait_times *w, const struct waits_wait *wait,
		      const struct gpu_work_origin *origin, uint64_t from_ns, uint64_t ns);

/* Splits spread times. Call this when all waits are decided. */
void wait_times_finish(struct wait_times *w);

#endif
