/* SPDX-License-Identifier: MIT */
/*
 * Amounts of numbered things, as entries of a table or stacks: a value for each run, and sums for
 * each side (change.h).
 */
#ifndef PROFILER_TABLES_AMOUNTS_H
#define PROFILER_TABLES_AMOUNTS_H

#include <stdbool.h>
#include <stdint.h>
#include "profiler/tables/change.h"

/* An amount that a row, or a record of the timeline, adds. The variances are those of its value. */
struct amount {
	double value;
	double sampled, measured; /* variance: of counting samples; of durations */
	uint64_t count;
	bool is_estimated; /* as in side_sum */
};

struct amounts {
	uint32_t run_count; /* set by the caller: of both sides */
	uint32_t count, capacity;
	double *values;         /* by thing, then by run */
	struct side_sum *sides; /* by thing, then by side */
};

/* Makes room for thing number `at`, which begins with nothing. False: out of memory. */
bool amounts_reach(struct amounts *a, uint32_t at);

/* Adds to a thing of the run with this number, which is of that side. False: out of memory. */
bool amounts_add(struct amounts *a, uint32_t at, enum comparison_side side, uint32_t run,
		 const struct amount *amount);

/* Adds all of another thing to one that has room. */
void amounts_move(struct amounts *to, uint32_t at, const struct amounts *from, uint32_t other);

/* Returns the values of a thing by run, and its sums by side. */
static inline double *amounts_values(const struct amounts *a, uint32_t at)
{
	return a->values + (size_t)at * a->run_count;
}

static inline struct side_sum *amounts_sides(const struct amounts *a, uint32_t at)
{
	return a->sides + (size_t)at * SIDES;
}

void amounts_release(struct amounts *a);

#endif
