/* SPDX-License-Identifier: MIT */
/*
 * Turns address ranges, which may overlap, into a sorted table of disjoint ranges.
 *
 * The highest priority wins in each piece where ranges overlap: a symbol nested in another keeps
 * its part, and the outer one keeps the rest. Ranges are half-open, [start, end).
 *
 * Building takes O(n log n) for any input and yields at most 2n pieces. A lookup takes O(log n).
 */
#ifndef SYMBOLIZE_UTIL_RANGE_TABLE_H
#define SYMBOLIZE_UTIL_RANGE_TABLE_H

#include <stddef.h>
#include <stdint.h>

#define RANGE_NONE UINT32_MAX

struct range {
	uint64_t start, end;
	uint32_t priority;
	uint32_t id; /* chosen by the caller; any but RANGE_NONE */
};

struct range_table {
	struct range *pieces;
	size_t count;
};

/*
 * Builds `table` from `ranges`, which stay the caller's and are sorted in place. Ignores empty and
 * inverted ranges. Returns 0, or -ENOMEM: the table is empty.
 */
int range_table_build(struct range_table *table, struct range *ranges, size_t count);

/* Returns the id of the range that contains `address`, or RANGE_NONE. */
uint32_t range_table_find(const struct range_table *table, uint64_t address);

void range_table_release(struct range_table *table);

#endif
