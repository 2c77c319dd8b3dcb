/* SPDX-License-Identifier: MIT */
/*
 * Sums up records of a timeline that are too short to show one by one: by kind, place, stack and
 * bin of the run's time. Duration (ns), bytes and number are exactly those of the records.
 *
 * There are at most `most` sums, unless more kinds, places and stacks differ: bins get wider.
 */
#ifndef PROFILER_WEB_TIMELINE_SUMS_H
#define PROFILER_WEB_TIMELINE_SUMS_H

#include <stdint.h>
#include "symbolize/util/record_set.h"

struct timeline_sum {
	uint32_t place, stack, kind, bin; /* the caller leaves `bin` 0 */
	uint64_t first_ns;                /* start of the first record */
	uint64_t ns, bytes, count;
};

/* Zero-initialise, then set the first three. */
struct timeline_sums {
	uint64_t first_ns, last_ns; /* starts of the first and last record */
	uint32_t most;
	uint32_t bin_shift;
	uint64_t records;
	RECORD_SET(struct timeline_sum) all;
};

/* Adds a record, as a sum of one. Returns 0, or -ENOMEM. */
int timeline_sums_add(struct timeline_sums *sums, struct timeline_sum record);

/*
 * Sorts the sums by kind, place and time, after all were added. Those at one place are shifted so
 * that they do not overlap: each begins with its first record, or behind the sum before.
 */
void timeline_sums_order(struct timeline_sums *sums);

void timeline_sums_release(struct timeline_sums *sums);

#endif
