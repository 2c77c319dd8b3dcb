/* SPDX-License-Identifier: MIT */
/*
 * A budget of bytes kept for a source, so that the target cannot fill our memory.
 *
 * Whoever keeps something for the source takes from the budget first, and returns what it frees.
 * Refusals are counted, so that the loss can be shown.
 */
#ifndef PROFILER_BASE_ALLOWANCE_H
#define PROFILER_BASE_ALLOWANCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "symbolize/intern.h"

struct allowance {
	size_t limit; /* bytes */
	size_t used;
	uint64_t refused; /* things, not bytes */
};

/* False, and counted: the limit would be exceeded. */
static inline bool allowance_take(struct allowance *a, size_t bytes)
{
	if (bytes > a->limit - a->used) {
		a->refused++;
		return false;
	}
	a->used += bytes;
	return true;
}

static inline void allowance_return(struct allowance *a, size_t bytes)
{
	a->used -= bytes < a->used ? bytes : a->used;
}

/*
 * The interned copy of a text, paid for once. NULL: refused, or out of memory. A NULL allowance has
 * no limit.
 */
const char *allowance_intern(struct allowance *allowance, struct intern *strings, const char *text);

#endif
