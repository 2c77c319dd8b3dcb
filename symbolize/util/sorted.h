/* SPDX-License-Identifier: MIT */
/*
 * Compares, sorts and searches records. `sorted_compare` and `sorted_count` take records that begin
 * with a uint64_t, `sorted_compare_pairs` records that begin with two.
 */
#ifndef SYMBOLIZE_UTIL_SORTED_H
#define SYMBOLIZE_UTIL_SORTED_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Compares two unsigned numbers, for comparators of qsort(3) and bsearch(3). */
static inline int compare_numbers(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

/* Compares two lists of `count` numbers by the first number that differs. */
static inline int compare_words(const uint32_t *a, const uint32_t *b, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (a[i] != b[i])
			return compare_numbers(a[i], b[i]);
	return 0;
}

/* Compares two records that begin with a uint32_t, for qsort(3) and bsearch(3). */
static inline int sorted_compare_32(const void *a, const void *b)
{
	return compare_words(a, b, 1);
}

/* Compares two records by their first number, for qsort(3) and bsearch(3). */
static inline int sorted_compare(const void *a, const void *b)
{
	uint64_t x, y;

	memcpy(&x, a, sizeof(x));
	memcpy(&y, b, sizeof(y));
	return compare_numbers(x, y);
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

/*
 * Returns the position of the first record of a sorted list that is not before `key`, or `count`.
 * `compare` gets a record and `key`, as from bsearch(3), and returns less than 0 for a record
 * before `key`.
 */
static inline size_t sorted_find(const void *key, const void *records, size_t count,
				 size_t record_size, int (*compare)(const void *, const void *))
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare((const char *)records + middle * record_size, key) < 0)
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
