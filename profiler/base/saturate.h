/* SPDX-License-Identifier: MIT */
/*
 * Adding counts that come from the target: a sum that does not fit stays at UINT64_MAX instead of
 * wrapping, so that no claim makes a loss disappear.
 */
#ifndef PROFILER_BASE_SATURATE_H
#define PROFILER_BASE_SATURATE_H

#include <stdint.h>

static inline uint64_t saturated_sum(uint64_t a, uint64_t b)
{
	return a <= UINT64_MAX - b ? a + b : UINT64_MAX;
}

static inline void saturated_add(uint64_t *sum, uint64_t count)
{
	*sum = saturated_sum(*sum, count);
}

#endif
