/* SPDX-License-Identifier: MIT */
/*
 * Keeps one copy of each distinct string: equal strings are equal pointers.
 *
 * Strings are cleaned (clean_text in text.h): names come from untrusted files. Zero-initialised is
 * empty and valid.
 */
#ifndef SYMBOLIZE_UTIL_INTERN_H
#define SYMBOLIZE_UTIL_INTERN_H

#include "symbolize/util/hash_index.h"

struct intern {
	char **strings;
	uint32_t count, capacity;
	struct hash_index index;
	uint64_t bytes;     /* bytes of all strings, with INTERN_ENTRY_BYTES each */
	uint64_t max_bytes; /* limit; 0: none */
};

/* bytes beside a string, of the allocator and the table, at most */
#define INTERN_ENTRY_BYTES (24 + sizeof(char *) + HASH_INDEX_ENTRY_BYTES)

/*
 * Interns a string. Returns the copy, valid until intern_release; NULL when out of memory or over
 * the limit.
 */
const char *intern_string(struct intern *intern, const char *string);

/* Returns the interned copy of a string, or NULL if there is none. */
const char *intern_find(const struct intern *intern, const char *string);

void intern_release(struct intern *intern);

#endif
