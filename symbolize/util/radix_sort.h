/* SPDX-License-Identifier: MIT */
/*
 * Sorts numbers by their keys: stable, in linear time. Takes memory for a second copy of both
 * arrays, whatever the keys are.
 */
#ifndef SYMBOLIZE_UTIL_RADIX_SORT_H
#define SYMBOLIZE_UTIL_RADIX_SORT_H

#include <stdint.h>

/*
 * Sorts the arrays `*keys` and `*values` by key. Both come from malloc() and may be replaced.
 * Returns 0, or -ENOMEM: nothing has changed.
 */
int radix_sort(uint64_t **keys, uint32_t **values, uint32_t count);

#endif
