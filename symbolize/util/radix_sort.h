/* SPDX-License-Identifier: MIT */
/*
 * Sorts many numbers by their keys: stable, in time proportional to their count, and with no more
 * memory than a second copy of both arrays, whatever the keys are.
 */
#ifndef SYMBOLIZE_UTIL_RADIX_SORT_H
#define SYMBOLIZE_UTIL_RADIX_SORT_H

#include <stdint.h>

/*
 * Sorts the arrays `*keys` and `*values` by key. They come from malloc() and may be replaced by
 * others. 0, or -ENOMEM: then they are as they were.
 */
int radix_sort(uint64_t **keys, uint32_t **values, uint32_t count);

#endif
