/* SPDX-License-Identifier: MIT */
/*
 * One copy of every distinct string; equal strings are equal pointers.
 *
 * Strings are cleaned (clean_text in text.h), so that a name from an untrusted file cannot move a
 * terminal's cursor or break a format of lines. Zero-initialised is empty and valid.
 */
#ifndef SYMBOLIZE_INTERN_H
#define SYMBOLIZE_INTERN_H

#include "symbolize/hash_index.h"

struct intern {
	char **strings;
	uint32_t count, capacity;
	struct hash_index index;
	uint64_t bytes;     /* of all strings */
	uint64_t max_bytes; /* more are refused; 0: no limit */
};

/* The interned copy, which lives until intern_release; NULL when out of memory, or too much. */
const char *intern_string(struct intern *intern, const char *string);

/* The interned copy; NULL: there is none. */
const char *intern_find(const struct intern *intern, const char *string);

void intern_release(struct intern *intern);

#endif
