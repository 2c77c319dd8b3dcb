/* SPDX-License-Identifier: MIT */
/*
 * How many bytes a source may make us keep: what the target sends is not to fill our memory.
 *
 * Whoever keeps something for the source asks first, and gives back what it lets go of. What was
 * refused is counted, so that the loss can be shown.
 */
#ifndef PROFILER_BASE_ALLOWANCE_H
#define PROFILER_BASE_ALLOWANCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct allowance {
	size_t limit; /* bytes */
	size_t used;
	uint64_t refused; /* things, not bytes */
};

/* False: it would be too much, and is counted. */
static inline bool allowance_take(struct allowance *a, size_t bytes)
{
	if (bytes > a->limit - a->used) {
		a->refused++;
		return false;
	}
	a->used += bytes;
	return true;
}

static inline void allowance_give_back(struct allowance *a, size_t bytes)
{
	a->used -= bytes < a->used ? bytes : a->used;
}

#endif
