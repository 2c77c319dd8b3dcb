/* SPDX-License-Identifier: MIT */
/* Clocks of the ranks of a job: how many there are, how they were aligned, and how exactly. */
#ifndef PROFILER_REPORT_RANK_CLOCKS_H
#define PROFILER_REPORT_RANK_CLOCKS_H

#include <stdbool.h>
#include "profiler/model/result.h"

struct rank_clocks {
	const struct rank_info **list; /* by clock: its first rank, or NULL; one for each rank */
	uint32_t count;
	uint32_t aligned, fewest;      /* clocks; collectives that one was aligned by */
	const struct rank_info *worst; /* of these; NULL: none */
	const struct rank_info *apart; /* the first whose wall clock is used beside another one */
	uint32_t references;
	uint64_t error_ns; /* of the wall clocks that are used, two of them; 0: unknown */
};

/* Finds the clocks of a result's ranks, which must outlive them. False: no memory. */
bool rank_clocks_find(const struct result *result, struct rank_clocks *clocks);

/* Frees the list, of a failed search as well. */
void rank_clocks_release(struct rank_clocks *clocks);

#endif
