/* SPDX-License-Identifier: MIT */
/* Counts the clocks of the ranks of a job, and finds how exactly the clocks are aligned. */
#ifndef PROFILER_REPORT_RANK_CLOCKS_H
#define PROFILER_REPORT_RANK_CLOCKS_H

#include <stdbool.h>
#include "profiler/model/result.h"

struct rank_clocks {
	const struct rank_info **list; /* first rank by clock, or NULL; rank_count entries */
	uint32_t count;
	uint32_t aligned,
		fewest; /* clocks aligned by collectives; fewest collectives of an aligned clock */
	const struct rank_info *worst; /* least exactly aligned clock; NULL: none */
	const struct rank_info
		*wall_clocked; /* second clock that is placed by its wall clock; NULL: none */
	uint32_t references;
	uint64_t error_ns; /* maximum error between two wall clocks, ns; 0: unknown */
};

/* Finds the clocks. The result must outlive `clocks`. Returns false if out of memory. */
bool rank_clocks_find(const struct result *result, struct rank_clocks *clocks);

/* Frees the list, also after a failure. */
void rank_clocks_release(struct rank_clocks *clocks);

#endif
