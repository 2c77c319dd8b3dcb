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
 * Communicators are not in the records, so peers are found by their times, those of one clock
 * alone:
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
 * Bounded: operations take from a budget, 72 bytes each, of COLLECTIVES_BYTES_MAX at most; without
 * room for all of them there are no collectives, for a part would name wrong ranks. Kernels that
 * run in more than COLLECTIVES_LINES_MAX streams of one machine are not compared. Sorting and
 * comparing take time proportional to the number of operations.
 */
#ifndef PROFILER_PROFILE_COLLECTIVES_H
#define PROFILER_PROFILE_COLLECTIVES_H

#include <stdbool.h>
#include <stdint.h>
#include "profiler/base/allowance.h"
#include "profiler/profile/result.h"

#define COLLECTIVES_TOLERANCE_NS 25000u
#define COLLECTIVES_LINES_MAX 256u
#define COLLECTIVES_BYTES_MAX ((size_t)512 << 20)
#define COLLECTIVES_ALONE UINT32_MAX

/* Where operations of one kernel run one after the other: a stream of a rank. */
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

struct collective_operation {
	uint64_t start_ns, end_ns;
	uint64_t id;      /* as it was added */
	uint64_t wait_ns; /* from the start on, for the rank `last`: less than it lasts */
	uint32_t rank;
	uint32_t last; /* that came last, maybe this one itself; COLLECTIVES_ALONE: no peers */
	uint32_t line;
};

struct collectives;

/* `memory` is borrowed. NULL: out of memory. */
struct collectives *collectives_new(struct allowance *memory);
void collectives_free(struct collectives *c);

/* Adds an operation; one that lasts 0 ns has no peers. */
void collectives_add(struct collectives *c, const struct collective_line *line, uint64_t start_ns,
		     uint64_t duration_ns, uint64_t id);

/* After all were added: finds the peers. False: there was no room for all operations. */
bool collectives_find(struct collectives *c);

/* What was found, as it was added; none if there was no room. Valid as long as `c`. */
const struct collective_operation *collectives_list(const struct collectives *c, uint32_t *count);

/* Whether it is a kernel of NCCL; and one that no rank leaves before all have come. */
bool collectives_is_nccl(const struct frame_info *frame);
bool collectives_is_compared(const struct frame_info *frame);

#endif
