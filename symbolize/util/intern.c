/* SPDX-License-Identifier: MIT */
#include "symbolize/util/intern.h"

#include <stdlib.h>
#include <string.h>

#include "symbolize/util/array.h"
#include "symbolize/util/text.h"

static bool equal(const void *records, uint32_t position, const void *key)
{
	char *const *strings = records;

	return strcmp(strings[position], key) == 0;
}

/* Returns a cleaned copy, to be freed, and sets `*found` to the interned one if there is one. */
static char *look_up(const struct intern *intern, const char *string, uint32_t *hash,
		     const char **found)
{
	char *copy = strdup(string);
	uint32_t at;

	*found = NULL;
	if (!copy)
		return NULL;
	clean_text(copy);
	*hash = hash_bytes(copy, strlen(copy));
	at = hash_index_find(&intern->index, *hash, equal, intern->strings, copy);
	if (at != HASH_INDEX_NONE)
		*found = intern->strings[at];
	return copy;
}

const char *intern_find(const struct intern *intern, const char *string)
{
	const char *found;
	uint32_t hash;

	free(look_up(intern, string, &hash, &found));
	return found;
}

const char *intern_string(struct intern *intern, const char *string)
{
	const char *found;
	uint32_t hash;
	char *copy = look_up(intern, string, &hash, &found);
	size_t bytes = copy ? strlen(copy) + INTERN_ENTRY_BYTES : 0;

	if (!copy || found ||
	    (intern->max_bytes > 0 && intern->max_bytes - intern->bytes < bytes) ||
	    !array_make_room(&intern->strings, intern->count, &intern->capacity,
			     sizeof(*intern->strings)) ||
	    hash_index_add(&intern->index, hash, intern->count) != 0) {
		free(copy);
		return found;
	}
	intern->bytes += bytes;
	intern->strings[intern->count++] = copy;
	return copy;
}

void intern_release(struct intern *intern)
{
	for (uint32_t i = 0; i < intern->count; i++)
		free(intern->strings[i]);
	free(intern->strings);
	hash_index_release(&intern->index);
	*intern = (struct intern){0};
}
