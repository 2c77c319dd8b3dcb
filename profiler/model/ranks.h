/* SPDX-License-Identifier: MIT */
/*
 * Describes the ranks of a parallel job whose captures were merged (shape/merge.h).
 *
 * Each rank is one run. The result of a single run has no ranks.
 */
#ifndef PROFILER_MODEL_RANKS_H
#define PROFILER_MODEL_RANKS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Alignment of a machine's clock. Clocks with one reference compare within the sum of their errors;
 * others within the errors of their wall clocks.
 */
struct clock_alignment {
	uint32_t reference; /* number of the reference clock; its own unless aligned with another */
	uint32_t collectives; /* collectives used for the alignment; 0: not aligned */
	uint64_t error_ns;    /* estimated error (clock_fit.h) */
	uint64_t bound_ns;    /* largest error that no collective contradicts */
	int64_t moved_ns;     /* added to its wall clock, in the middle of the run */
	int64_t drift;        /* added to `moved_ns` for each second since then, in ns */
};

struct rank_info {
	uint32_t rank;

	uint32_t clock;       /* number of its clock; ranks with one number share CLOCK_MONOTONIC */
	const char *host;     /* name of the machine; NULL: unknown */
	uint64_t start_ns;    /* start of its command, on the clock of the result */
	uint64_t elapsed_ns;  /* as in struct totals */
	uint32_t exit_status; /* as in struct totals */
	uint32_t size;        /* number of ranks, from the rank's launcher; 0: unknown */
	bool has_wall_clock;  /* false: the start of the first rank is assumed */
	uint64_t wall_error_ns; /* error of its machine's wall clock; 0: unknown */
	struct clock_alignment alignment;
	/* collective operations (collectives.h): with peers, last to arrive, and without peers */
	uint64_t collectives, came_last, alone;
	uint64_t undecided; /* with peers, and perhaps last to arrive, within the error of the
			       clocks */
};

/* Finds a rank by number in `ranks`, which are sorted by it. Returns NULL if there is none. */
const struct rank_info *ranks_find(const struct rank_info *ranks, uint32_t count, uint32_t rank);

/* Returns whether a frame's name is PSEUDO_WAITING_FOR_RANK, and stores the rank. */
bool ranks_is_wait(const char *name, uint32_t *rank);

#endif
