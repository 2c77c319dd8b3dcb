/* SPDX-License-Identifier: MIT */
/*
 * Finds kernels of several ranks that were one collective, and how long each rank waited for the
 * last rank.
 *
 * No rank can leave an AllReduce, AllGather, ReduceScatter or AllToAll before all ranks have come:
 * each result needs the data of all. A rank that comes early spins in its kernel. So a kernel's
 * time until its last peer started is waiting. The rest is the collective. Other kernels of NCCL
 * are not compared: a sender may leave before others receive (SendRecv, Broadcast, Reduce), and
 * some have no name of their own (Generic).
 *
 * Ranges of NCCL tell communicators (--nvtx). Then peers are of one kernel and communicator. If
 * each rank has as many operations of these, operation n of one is a peer of operation n of the
 * others: all ranks call a communicator's collectives in one order. They must overlap, which 3/4 of
 * such groups do; the others stay alone. Otherwise, as in captures of a part, times tell.
 *
 * Without communicators, peers are found by their times alone, first those of one clock:
 *  - Candidates have one kernel, overlap in time, and end within COLLECTIVES_TOLERANCE_NS. Ranks of
 *    one machine leave together: the last chunk passes between GPUs in a few microseconds each.
 *    CUPTI's times of two GPUs differ by about one microsecond.
 *  - Independent collectives may end together by chance, such as those of several tensor-parallel
 *    groups. So peers must end together in 3/4 of the operations of the stream with fewer, over
 *    the whole run. All streams in a collective are peers of each other. Groups that always run
 *    in step look like one.
 *  - No rank is in a collective twice. An operation without peers stays alone.
 *
 * If captures or records of peers are missing, the last of the other ranks counts as the last. Then
 * the waiting is too short, never too long.
 *
 * Collectives of each machine are then compared between machines with aligned clocks
 * (collectives_align): the last rank of each to come, and the first to leave. The tolerance grows
 * by the errors of the clocks. A wait for a rank of another machine is reduced by these errors. If
 * they do not tell which rank came last, no rank did: the collective is undecided.
 *
 * Bounded: operations take 96 bytes each from a quota, COLLECTIVES_BYTES_MAX at most, and as much
 * again for the comparison between machines. If the quota is exceeded there are no collectives, for
 * a part of them would name wrong ranks. Kernels in more than COLLECTIVES_LINES_MAX streams of a
 * machine, or groups of streams of several, are not compared. Sorting and comparing take time
 * proportional to the number of operations. Aligning has a fixed limit; clocks beyond it stay as
 * they are.
 */
#ifndef PROFILER_TABLES_COLLECTIVES_H
#define PROFILER_TABLES_COLLECTIVES_H

#include <stdbool.h>
#include <stdint.h>
#include "profiler/base/quota.h"
#include "profiler/model/clock_fit.h"
#include "profiler/model/result.h"

#define COLLECTIVES_TOLERANCE_NS 25000u
#define COLLECTIVES_BETWEEN_NS 75000u /* tolerance between machines, besides clock errors */
#define COLLECTIVES_LINES_MAX 1024u
#define COLLECTIVES_BYTES_MAX ((size_t)512 << 20)
#define COLLECTIVES_ALONE UINT32_MAX
#define COLLECTIVES_STEPS_MAX (UINT64_C(1) << 29) /* limit of aligning: some seconds */

/* A stream of a rank, on which operations of one kernel run one after the other. */
struct collective_line {
	uint32_t clock, kernel; /* ranks with one clock are compared; `kernel` is a frame */
	uint32_t rank, device, context, stream;
	uint32_t comm; /* communicator (collectives_comm); 0: unknown */
};

static inline struct collective_line collective_line_at(const struct place *place, uint32_t kernel,
							uint32_t rank, uint32_t clock)
{
	return (struct collective_line){.clock = clock,
					.kernel = kernel,
					.rank = rank,
					.device = place->part[PLACE_DEVICE],
					.context = place->part[PLACE_CONTEXT],
					.stream = place->part[PLACE_STREAM]};
}

enum collective_verdict { COLLECTIVE_NOT_LAST, COLLECTIVE_LAST, COLLECTIVE_UNDECIDED };

struct collective_operation {
	uint64_t start_ns, end_ns;
	uint64_t id;      /* given by the caller */
	uint64_t wait_ns; /* wait for rank `last`, from the start on; less than the duration */
	uint32_t rank;
	uint32_t last; /* rank that it waited for, maybe its own; COLLECTIVES_ALONE: no peers */
	uint32_t line;
	uint32_t awaited; /* operation of rank `last`, among those compared */
	uint32_t event;   /* its event for the comparison between machines */
	uint8_t verdict;  /* enum collective_verdict on its rank */
};

/* A CLOCK_MONOTONIC, by its number. */
struct collective_clock {
	uint64_t wall_error_ns; /* error of its wall clock; 0: unknown */
	struct clock_alignment alignment;
	struct clock_fit fit; /* correction of its times, if aligned */
};

struct collectives;

/* Makes an empty set. `memory` is borrowed. Returns NULL if out of memory. */
struct collectives *collectives_new(struct quota *memory);
void collectives_free(struct collectives *c);

/* Adds an operation. An operation of 0 ns has no peers. */
void collectives_add(struct collectives *c, const struct collective_line *line, uint64_t start_ns,
		     uint64_t duration_ns, uint64_t id);

/*
 * Aligns the clocks and the times of operations, after all were added. A clock is aligned with the
 * first clock with which it shares collectives, directly or through others. Other clocks are their
 * own reference. Returns false if the quota is exceeded.
 */
bool collectives_align(struct collectives *c, struct collective_clock *clocks, uint32_t count);

/* Returns a time of a clock after alignment. */
uint64_t collectives_aligned_time(const struct collective_clock *clock, uint64_t ns);

/*
 * Finds the peers among clocks with one reference. NULL: only within each clock. Returns false if
 * the quota is exceeded.
 */
bool collectives_find(struct collectives *c, const struct collective_clock *clocks, uint32_t count);

/*
 * Returns the operations in the order in which they were added; none beyond the quota. Valid until
 * `c` is freed.
 */
const struct collective_operation *collectives_list(const struct collectives *c, uint32_t *count);

/*
 * Returns the communicator of an operation, by the innermost range of NCCL in its stack that tells
 * one; 0: unknown.
 */
uint32_t collectives_comm(const struct result *result, uint32_t stack);

/* Return true for a kernel of NCCL; and for one that no rank leaves before all have come. */
bool collectives_is_nccl(const struct frame_info *frame);
bool collectives_is_compared(const struct frame_info *frame);

/* Returns, by frame, which are kernels of NCCL. The caller frees it. Returns NULL without memory.
 */
bool *collectives_nccl_frames(const struct result *result);

#endif
