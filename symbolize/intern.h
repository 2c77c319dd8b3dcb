/* SPDX-License-Identifier: MIT */
/*
 * One copy of every distinct string; equal strings are equal pointers.
 *
 * Control characters become '?', so that a name from an untrusted file cannot move a terminal's
 * cursor or break a line-oriented format. Zero-initialised is empty and valid.
 */
#ifndef SYMBOLIZE_INTERN_H
#define SYMBOLIZE_INTERN_H

#include "symbolize/hash_index.h"

struct intern {
	char **strings;
	uint32_t count, capacity;
	struct hash_index index;
};

/* The interned copy, which lives until intern_release; NULL when out of memory. */
const char *intern_string(struct intern *intern, const char *string);

void intern_release(struct intern *intern);

/* Replaces control characters in place, by bytes: UTF-8 stays as it is. */
void replace_control_characters(char *string);

#endif
