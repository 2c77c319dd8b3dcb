/* SPDX-License-Identifier: MIT */
/*
 * Sorts large arrays of records by a number at their beginning, in place.
 *
 * Takes no memory, unlike qsort, and time proportional to the number of records. Records of equal
 * numbers are in any order. Records in order are recognized in one pass.
 */
#ifndef SYMBOLIZE_UTIL_TIME_SORT_H
#define SYMBOLIZE_UTIL_TIME_SORT_H

#include <stddef.h>
#include <stdint.h>

#define TIME_SORT_SIZE_MAX 64 /* bytes of a record */

/* Sorts `count` records of `size` bytes, a multiple of 8. A record begins with an uint64_t. */
void time_sort(void *records, size_t count, size_t size);

#endif
