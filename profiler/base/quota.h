/* SPDX-License-Identifier: MIT */
/*
 * A budget of bytes kept for a source, so that the target cannot fill our memory.
 *
 * Whoever keeps something for the source takes from the budget first, and returns what it frees.
 * Refusals are counted, so that the loss can be shown. A budget may be a part of another, from
 * which its bytes are taken too. In place of a budget NULL has no limit.
 */
#ifndef PROFILER_BASE_QUOTA_H
#define PROFILER_BASE_QUOTA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "symbolize/util/intern.h"

struct quota {
	size_t limit; /* bytes */
	size_t used;
	uint64_t refused;    /* things, not bytes */
	struct quota *outer; /* this one is a part of it; NULL: of none */
};

static inline bool quota_has(const struct quota *a, size_t bytes)
{
	for (; a; a = a->outer)
		if (a->used > a->limit || bytes > a->limit - a->used)
			return false;
	return true;
}

/* False, and counted: a limit would be exceeded. */
static inline bool quota_take(struct quota *a, size_t bytes)
{
	if (!quota_has(a, bytes)) {
		a->refused++;
		return false;
	}
	for (; a; a = a->outer)
		a->used += bytes;
	return true;
}

static inline void quota_return(struct quota *a, size_t bytes)
{
	if (a && bytes > a->used)
		bytes = a->used;
	for (; a; a = a->outer)
		a->used -= bytes;
}

/*
 * For tables that use their records again: whether they may have one more than `count`. `*paid`, 0
 * at first, is how many have been paid for; a few are free, so that each table can do its work.
 */
#define QUOTA_FREE_RECORDS 4096u
static inline bool quota_extend(struct quota *a, uint32_t count, uint32_t *paid, size_t bytes)
{
	if (count < QUOTA_FREE_RECORDS || count < *paid)
		return true;
	if (!quota_take(a, bytes))
		return false;
	*paid = count + 1;
	return true;
}

/* The interned copy of a text, paid for once. NULL: refused, or out of memory. */
const char *quota_intern(struct quota *quota, struct intern *strings, const char *text);

#endif
