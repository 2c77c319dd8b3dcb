/* SPDX-License-Identifier: MIT */
/*
 * Keeps amounts of numbered items, such as entries of a table or stacks: a value for each run, and
 * sums for each side (change.h).
 */
#ifndef PROFILER_TABLES_AMOUNTS_H
#define PROFILER_TABLES_AMOUNTS_H

#include <stdbool.h>
#include <stdint.h>
#include "profiler/tables/change.h"

/* The amount that a row, or a record of the timeline, adds. */
struct amount {
	double value;
	double sampled, measured; /* variances of the value: by counting samples; by durations */
	uint64_t count;
	bool is_estimated; /* as in side_sum */
};

struct amounts {
	uint32_t run_count; /* runs of both sides; set by the caller */
	uint32_t count, capacity;
	double *values;         /* by item, then by run */
	struct side_sum *sides; /* by item, then by side */
};

/* Makes room for item `at`, which begins empty. Returns false if out of memory. */
bool amounts_reach(struct amounts *a, uint32_t at);

/* Adds an amount of run number `run`, on `side`, to an item. Returns false if out of memory. */
bool amounts_add(struct amounts *a, uint32_t at, enum comparison_side side, uint32_t run,
		 const struct amount *amount);

/* Adds all amounts of item `other` to item `at`, which has room. */
void amounts_move(struct amounts *to, uint32_t at, const struct amounts *from, uint32_t other);

/* Return an item's values by run, and its sums by side. */
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
