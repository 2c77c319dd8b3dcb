/* SPDX-License-Identifier: MIT */
#include "symbolize/intern.h"

#include <stdlib.h>
#include <string.h>

void replace_control_characters(char *string)
{
	for (unsigned char *c = (unsigned char *)string; *c; c++)
		if (*c < ' ' || *c == 0x7f)
			*c = '?';
}

static bool equal(const void *records, uint32_t position, const void *key)
{
	char *const *strings = records;

	return strcmp(strings[position], key) == 0;
}

static bool make_room(struct intern *intern)
{
	uint32_t capacity = intern->capacity ? intern->capacity * 2 : 256;
	char **bigger;

	if (intern->count < intern->capacity)
		return true;
	if (capacity > UINT32_MAX / 2)
		return false;
	bigger = realloc(intern->strings, capacity * sizeof(*bigger));
	if (!bigger)
		return false;
	intern->strings = bigger;
	intern->capacity = capacity;
	return true;
}

const char *intern_string(struct intern *intern, const char *string)
{
	char *copy = strdup(string);
	uint32_t hash, found;

	if (!copy)
		return NULL;
	replace_control_characters(copy);
	hash = hash_bytes(copy, strlen(copy));
	found = hash_index_find(&intern->index, hash, equal, intern->strings, copy);
	if (found != HASH_INDEX_NONE) {
		free(copy);
		return intern->strings[found];
	}
	if (!make_room(intern) || hash_index_add(&intern->index, hash, intern->count) != 0) {
		free(copy);
		return NULL;
	}
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
