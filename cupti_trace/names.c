// SPDX-License-Identifier: MIT
#include "cupti_trace/names.h"

#include <stdlib.h>
#include <string.h>

static uint64_t hash_text(const char *text)
{
	uint64_t h = 0xcbf29ce484222325u; /* FNV-1a */

	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * 0x100000001b3u;
	return h;
}

static uint32_t *find_slot(struct names *names, const char *name)
{
	uint32_t mask = names->slot_count - 1;
	uint32_t i = (uint32_t)hash_text(name) & mask;

	while (names->slots[i] && strcmp(names->by_id[names->slots[i]], name) != 0)
		i = (i + 1) & mask;
	return &names->slots[i];
}

/* Keeps the table at most half full. */
static bool grow(struct names *names)
{
	uint32_t count = names->slot_count ? names->slot_count * 2 : 256;
	uint32_t *old = names->slots;
	char **by_id = realloc(names->by_id, (count / 2 + 1) * sizeof(*by_id));

	if (!by_id)
		return false;
	names->by_id = by_id;
	names->slots = calloc(count, sizeof(*names->slots));
	if (!names->slots) {
		names->slots = old;
		return false;
	}
	free(old);
	names->slot_count = count;
	for (uint32_t id = 1; id <= names->count; id++)
		*find_slot(names, names->by_id[id]) = id;
	return true;
}

static uint32_t add(struct names *names, const char *name)
{
	size_t bytes = strlen(name) + 1;
	char *copy;

	if (names->count >= NAMES_MAX || names->bytes + bytes > NAMES_MAX_BYTES)
		return NAMES_OVERFLOW_ID;
	if ((names->count + 1) * 2 > names->slot_count && !grow(names))
		return NAMES_OVERFLOW_ID;
	copy = malloc(bytes);
	if (!copy)
		return NAMES_OVERFLOW_ID;
	memcpy(copy, name, bytes);
	*find_slot(names, name) = ++names->count;
	names->by_id[names->count] = copy;
	names->bytes += bytes;
	return names->count;
}

uint32_t names_id(struct names *names, const char *name, bool *is_new)
{
	size_t c = ((uintptr_t)name >> 4) % NAMES_POINTER_CACHE;
	uint32_t id = 0;

	*is_new = false;
	if (!name)
		return NAMES_OVERFLOW_ID;
	if (names->cache[c].pointer == name && strcmp(names->by_id[names->cache[c].id], name) == 0)
		return names->cache[c].id;
	if (names->slot_count)
		id = *find_slot(names, name);
	if (!id) {
		id = add(names, name);
		*is_new = id != NAMES_OVERFLOW_ID;
	}
	if (id != NAMES_OVERFLOW_ID) {
		names->cache[c].pointer = name;
		names->cache[c].id = id;
	}
	return id;
}

void names_release(struct names *names)
{
	for (uint32_t id = 1; id <= names->count; id++)
		free(names->by_id[id]);
	free(names->by_id);
	free(names->slots);
	memset(names, 0, sizeof(*names));
}
