/* SPDX-License-Identifier: MIT */
/*
 * Which kernels of several ranks were one collective, and for how long each rank waited in its own
 * for the rank that came last.
 *
 * No rank can leave an AllReduce, AllGather, ReduceScatter or AllToAll before all have come: each
 * result needs what all of them bring. A rank that comes early spins in its kernel. So the time of
 * a kernel until the last of its peers has started is waiting, and the rest is the collective.
 * Other kernels of NCCL are not compared: whoever sends may leave before others receive (SendRecv,
 * Broadcast, Reduce), and some have no name of their own (Generic).
 *
 * Communicators are not in the records, so peers are found by their times, first those of one
 * clock:
 *  - Candidates have one kernel, overlap in time, and end within COLLECTIVES_TOLERANCE_NS. Ranks of
 *    one machine leave together: the last chunk passes from GPU to GPU in a few microseconds for
 *    each, and CUPTI's times of two GPUs differ by about one.
 *  - Independent collectives, as of several tensor-parallel groups, may happen to end together. So
 *    two streams are peers only if at least three quarters of the operations of the one with fewer
 *    end together with one of the other, over the whole run; and all in a collective are peers of
 *    each other. Groups that always run in step look like one.
 *  - No rank is in a collective twice. What has no peers stays alone.
 * If peers are missing, their captures or their records, then the last one is that of the others,
 * and the waiting is too short, never too long.
 *
 * What ran on each machine is then compared with the other machines' likewise, if their clocks are
 * aligned (collectives_align): the last of each to come, and the first to leave. The tolerance is
 * wider by the errors of the clocks, and a wait for a rank of another machine is as short as these
 * errors allow. If they do not allow to say which rank came last, none did: it is undecided.
 *
 * Bounded: operations take from a budget, 96 bytes each, of COLLECTIVES_BYTES_MAX at most, and as
 * many again for what is compared between machines; without
 * room for all of them there are no collectives, for a part would name wrong ranks. Kernels that
 * run in more than COLLECTIVES_LINES_MAX streams of one machine, or groups of streams of several,
 * are not compared. Sorting and comparing take time proportional to the number of operations;
 * aligning has a fixed limit, and clocks that are not aligned by then are not aligned.
 */
#ifndef PROFILER_TABLES_COLLECTIVES_H
#define PROFILER_TABLES_COLLECTIVES_H

#include <stdbool.h>
#include <stdint.h>
#include "profiler/base/quota.h"
#include "profiler/model/clock_fit.h"
#include "profiler/model/result.h"

#define COLLECTIVES_TOLERANCE_NS 25000u
#define COLLECTIVES_BETWEEN_NS 75000u /* the same of several machines, besides clock errors */
#define COLLECTIVES_LINES_MAX 1024u
#define COLLECTIVES_BYTES_MAX ((size_t)512 << 20)
#define COLLECTIVES_ALONE UINT32_MAX
#define COLLECTIVES_STEPS_MAX (UINT64_C(1) << 29) /* of aligning: some seconds */

/* A line on which operations of one kernel run one after the other: a stream of a rank. */
struct collective_line {
	uint32_t clock, kernel; /* ranks with the same clock compare; the kernel's frame */
	uint32_t rank, device, context, stream;
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
	uint64_t id;      /* as it was added */
	uint64_t wait_ns; /* from the start on, for the rank `last`: less than it lasts */
	uint32_t rank;
	uint32_t last; /* that it waited for, maybe this one itself; COLLECTIVES_ALONE: no peers */
	uint32_t line;
	uint32_t awaited; /* the operation of that rank, among those compared with it */
	uint32_t event;   /* what it is part of, for other machines */
	uint8_t verdict;  /* enum collective_verdict: whether its rank came last of all */
};

/* A CLOCK_MONOTONIC, by its number. */
struct collective_clock {
	uint64_t wall_error_ns; /* of the times that it has before it is aligned; 0: unknown */
	struct clock_alignment alignment;
	struct clock_fit fit; /* if it is aligned: what collectives_align adds to its times */
};

struct collectives;

/* `memory` is borrowed. NULL: out of memory. */
struct collectives *collectives_new(struct quota *memory);
void collectives_free(struct collectives *c);

/* Adds an operation; one that lasts 0 ns has no peers. */
void collectives_add(struct collectives *c, const struct collective_line *line, uint64_t start_ns,
		     uint64_t duration_ns, uint64_t id);

/*
 * After all were added: aligns the clocks with the first of them that they share collectives with,
 * directly or by others, and the times of operations. Each clock starts with itself as its
 * reference. False: there was no room.
 */
bool collectives_align(struct collectives *c, struct collective_clock *clocks, uint32_t count);

/* A time of a clock as collectives_align has it. */
uint64_t collectives_aligned_time(const struct collective_clock *clock, uint64_t ns);

/*
 * Finds the peers, on machines with one reference of `clocks`; NULL: only on each machine. False:
 * there was no room for all operations.
 */
bool collectives_find(struct collectives *c, const struct collective_clock *clocks, uint32_t count);

/* Returns what was found, as it was added; none if there was no room. Valid as long as `c`. */
const struct collective_operation *collectives_list(const struct collectives *c, uint32_t *count);

/* Returns whether it is a kernel of NCCL; and one that no rank leaves before all have come. */
bool collectives_is_nccl(const struct frame_info *frame);
bool collectives_is_compared(const struct frame_info *frame);

#endif
