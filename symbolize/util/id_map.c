// SPDX-License-Identifier: MIT
#include "symbolize/util/id_map.h"

#include <stdlib.h>
#include "symbolize/util/hash.h"

#define FIRST_CAPACITY 16u

struct id_map_entry {
	uint64_t value;
	uint32_t id;
	uint32_t used;
};

/* Returns where the walk for `id` begins. */
static uint32_t home_of(const struct id_map *map, uint32_t id)
{
	return hash_number(id) & (map->capacity - 1);
}

/* The entry of `id`, or the free one where it belongs. */
static struct id_map_entry *slot_of(const struct id_map *map, uint32_t id)
{
	uint32_t at = home_of(map, id);

	while (map->entries[at].used && map->entries[at].id != id)
		at = (at + 1) & (map->capacity - 1);
	return &map->entries[at];
}

uint64_t *id_map_find(const struct id_map *map, uint32_t id)
{
	struct id_map_entry *entry = map->capacity ? slot_of(map, id) : NULL;

	return entry && entry->used ? &entry->value : NULL;
}

static bool grow(struct id_map *map)
{
	struct id_map bigger = {.capacity = map->capacity ? map->capacity * 2 : FIRST_CAPACITY,
				.count = map->count};

	if (map->capacity > UINT32_MAX / 4)
		return false;
	bigger.entries = calloc(bigger.capacity, sizeof(*bigger.entries));
	if (!bigger.entries)
		return false;
	for (uint32_t i = 0; i < map->capacity; i++)
		if (map->entries[i].used)
			*slot_of(&bigger, map->entries[i].id) = map->entries[i];
	free(map->entries);
	*map = bigger;
	return true;
}

uint64_t *id_map_get(struct id_map *map, uint32_t id)
{
	uint64_t *found = id_map_find(map, id);
	struct id_map_entry *entry;

	if (found)
		return found;
	if (map->count >= map->capacity / 2 && !grow(map))
		return NULL;
	entry = slot_of(map, id);
	*entry = (struct id_map_entry){.id = id, .used = 1};
	map->count++;
	return &entry->value;
}

/* Closes the gap, so that no walk that passed through it stops short (Knuth's 6.4 R). */
void id_map_remove(struct id_map *map, uint32_t id)
{
	struct id_map_entry *entry = map->capacity ? slot_of(map, id) : NULL;
	uint32_t mask = map->capacity - 1, hole;

	if (!entry || !entry->used)
		return;
	hole = (uint32_t)(entry - map->entries);
	for (uint32_t i = (hole + 1) & mask; map->entries[i].used; i = (i + 1) & mask) {
		uint32_t home = home_of(map, map->entries[i].id);

		if (((i - home) & mask) >= ((i - hole) & mask)) {
			map->entries[hole] = map->entries[i];
			hole = i;
		}
	}
	map->entries[hole].used = 0;
	map->count--;
}

bool id_map_next(const struct id_map *map, uint32_t *position, uint32_t *id, uint64_t *value)
{
	while (*position < map->capacity) {
		const struct id_map_entry *entry = &map->entries[(*position)++];

		if (!entry->used)
			continue;
		*id = entry->id;
		*value = entry->value;
		return true;
	}
	return false;
}

void id_map_release(struct id_map *map)
{
	free(map->entries);
	*map = (struct id_map){0};
}
