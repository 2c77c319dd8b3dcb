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

static const char *find(const struct intern *intern, const char *clean, uint32_t hash)
{
	uint32_t found = hash_index_find(&intern->index, hash, equal, intern->strings, clean);

	return found != HASH_INDEX_NONE ? intern->strings[found] : NULL;
}

const char *intern_find(const struct intern *intern, const char *string)
{
	char *copy = strdup(string);
	const char *found;

	if (!copy)
		return NULL;
	clean_text(copy);
	found = find(intern, copy, hash_bytes(copy, strlen(copy)));
	free(copy);
	return found;
}

const char *intern_string(struct intern *intern, const char *string)
{
	char *copy = strdup(string);
	const char *found;
	uint32_t hash;
	size_t bytes;

	if (!copy)
		return NULL;
	clean_text(copy);
	hash = hash_bytes(copy, strlen(copy));
	found = find(intern, copy, hash);
	if (found) {
		free(copy);
		return found;
	}
	bytes = strlen(copy) + INTERN_ENTRY_BYTES;
	if ((intern->max_bytes > 0 && intern->max_bytes - intern->bytes < bytes) ||
	    !array_make_room(&intern->strings, intern->count, &intern->capacity,
			     sizeof(*intern->strings)) ||
	    hash_index_add(&intern->index, hash, intern->count) != 0) {
		free(copy);
		return NULL;
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
