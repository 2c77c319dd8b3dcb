/* SPDX-License-Identifier: MIT */
/*
 * Sorts and searches records that begin with a uint64_t, or with two.
 */
#ifndef SYMBOLIZE_UTIL_SORTED_H
#define SYMBOLIZE_UTIL_SORTED_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Compares two records by their first number, for qsort(3) and bsearch(3). */
static inline int sorted_compare(const void *a, const void *b)
{
	uint64_t x, y;

	memcpy(&x, a, sizeof(x));
	memcpy(&y, b, sizeof(y));
	return (x > y) - (x < y);
}

/* Compares two records by their first number, then by the second, for qsort(3). */
static inline int sorted_compare_pairs(const void *a, const void *b)
{
	int order = sorted_compare(a, b);

	return order ? order : sorted_compare((const uint64_t *)a + 1, (const uint64_t *)b + 1);
}

/* Returns how many records of a sorted list begin with a number of at most `most`. */
static inline size_t sorted_count(const void *records, size_t count, size_t record_size,
				  uint64_t most)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		uint64_t number;

		memcpy(&number, (const char *)records + middle * record_size, sizeof(number));
		if (number <= most)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static inline uint64_t smaller_of(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t larger_of(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

#endif
