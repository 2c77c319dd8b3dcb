// SPDX-License-Identifier: MIT
#include "cupti_trace/names.h"

#include <stdlib.h>
#include <string.h>
#include "symbolize/array.h"

static bool equal(const void *records, uint32_t position, const void *key)
{
	char *const *list = records;

	return strcmp(list[position], key) == 0;
}

static uint32_t add(struct names *names, const char *name, uint32_t hash)
{
	size_t bytes = strlen(name) + 1;
	char *copy;

	if (names->count >= NAMES_MAX || names->bytes + bytes > NAMES_MAX_BYTES ||
	    !array_make_room(&names->list, names->count, &names->capacity, sizeof(*names->list)))
		return NAMES_OVERFLOW_ID;
	copy = strdup(name);
	if (!copy || hash_index_add(&names->index, hash, names->count) != 0) {
		free(copy);
		return NAMES_OVERFLOW_ID;
	}
	names->list[names->count++] = copy;
	names->bytes += bytes;
	return names->count;
}

/* Its id, added if it is new. */
static uint32_t look_up(struct names *names, const char *name, bool *is_new)
{
	uint32_t hash = hash_bytes(name, strlen(name)), id;
	uint32_t at = hash_index_find(&names->index, hash, equal, names->list, name);

	if (at != HASH_INDEX_NONE)
		return at + 1;
	id = add(names, name, hash);
	*is_new = id != NAMES_OVERFLOW_ID;
	return id;
}

uint32_t names_id(struct names *names, const char *name, bool *is_new)
{
	size_t c = ((uintptr_t)name >> 4) % NAMES_POINTER_CACHE;
	uint32_t id;

	*is_new = false;
	if (!name)
		return NAMES_OVERFLOW_ID;
	if (names->cache[c].pointer == name &&
	    strcmp(names->list[names->cache[c].id - 1], name) == 0)
		return names->cache[c].id;
	id = look_up(names, name, is_new);
	if (id != NAMES_OVERFLOW_ID) {
		names->cache[c].pointer = name;
		names->cache[c].id = id;
	}
	return id;
}

void names_release(struct names *names)
{
	for (uint32_t i = 0; i < names->count; i++)
		free(names->list[i]);
	free(names->list);
	hash_index_release(&names->index);
	memset(names, 0, sizeof(*names));
}
