/* SPDX-License-Identifier: MIT */
/*
 * The ranks of a parallel job whose captures were merged (shape/merge.h): one run each. A result
 * of one run has none.
 */
#ifndef PROFILER_MODEL_RANKS_H
#define PROFILER_MODEL_RANKS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Of a machine's clock. Those with one reference compare, as far as the sum of their errors allows;
 * others agree as their wall clocks do.
 */
struct clock_alignment {
	uint32_t reference; /* the number of a clock: its own, unless it is aligned with another */
	uint32_t collectives; /* it was aligned by; 0: it was not */
	uint64_t error_ns;    /* how far it may be off (clock_fit.h) */
	uint64_t bound_ns;    /* this far at most, as no collective contradicts */
	int64_t moved_ns;     /* what was added to its wall clock, in the middle of the run */
	int64_t drift;        /* and to this for each second since then, in ns */
};

struct rank_info {
	uint32_t rank;
	uint32_t
		clock; /* ranks with the same number, below their count, have one CLOCK_MONOTONIC */
	const char *host;       /* the machine's name; NULL: unknown */
	uint64_t start_ns;      /* of its command, on the clock of the result */
	uint64_t elapsed_ns;    /* as in struct totals */
	uint32_t exit_status;   /* likewise */
	uint32_t size;          /* of the job, as the rank's launcher said; 0: unknown */
	bool has_wall_clock;    /* else its start is only assumed to be that of the first rank */
	uint64_t wall_error_ns; /* of its machine's wall clock; 0: unknown */
	struct clock_alignment alignment;
	/* operations of collectives.h: with peers, those that came last, and without peers */
	uint64_t collectives, came_last, alone;
	uint64_t undecided; /* with peers: it seems to have come last, but clocks are too inexact */
};

/* By their numbers; NULL: none. `ranks` are in their order. */
const struct rank_info *ranks_find(const struct rank_info *ranks, uint32_t count, uint32_t rank);

/* Returns whether a frame's name is PSEUDO_WAITING_FOR_RANK, and which rank it is. */
bool ranks_is_wait(const char *name, uint32_t *rank);

#endif
