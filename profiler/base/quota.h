/* SPDX-License-Identifier: MIT */
/*
 * Limits the memory that data of a target may take.
 *
 * A module takes bytes from the quota before it keeps data, and returns the bytes when it frees the
 * data. Refusals are counted and shown. A quota may be part of an outer one; its bytes count in
 * both. NULL in place of a quota means no limit.
 */
#ifndef PROFILER_BASE_QUOTA_H
#define PROFILER_BASE_QUOTA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "symbolize/util/intern.h"

struct quota {
	size_t limit; /* bytes */
	size_t used;
	uint64_t refused;    /* number of refused requests */
	struct quota *outer; /* enclosing quota, or NULL */
};

static inline bool quota_has(const struct quota *a, size_t bytes)
{
	for (; a; a = a->outer)
		if (a->used > a->limit || bytes > a->limit - a->used)
			return false;
	return true;
}

/* Takes bytes. Returns false and counts the refusal if a limit would be exceeded. */
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
 * Returns true if a table that reuses its records may hold one more than `count`. `*paid` is the
 * number of records paid for, initially 0. QUOTA_FREE_RECORDS are free, so that every table can
 * work.
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

/*
 * Returns the interned copy of a text, charging its bytes once. Returns NULL if refused or out of
 * memory.
 */
static inline const char *quota_intern(struct quota *quota, struct intern *strings,
				       const char *text)
{
	const char *interned = intern_find(strings, text);
	size_t bytes = strlen(text) + INTERN_ENTRY_BYTES;

	if (interned || !quota_take(quota, bytes))
		return interned;
	interned = intern_string(strings, text);
	if (!interned)
		quota_return(quota, bytes);
	return interned;
}

#endif
