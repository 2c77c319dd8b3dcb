// SPDX-License-Identifier: MIT
#include "symbolize/util/id_map.h"

static uint32_t find(const struct id_map *map, uint32_t id)
{
	return record_find_hashed(map, hash_number(id), &id);
}

uint64_t *id_map_find(const struct id_map *map, uint32_t id)
{
	uint32_t at = find(map, id);

	return at != RECORD_NONE ? &map->list[at].value : NULL;
}

uint64_t *id_map_get(struct id_map *map, uint32_t id)
{
	uint32_t at = find(map, id);

	if (at == RECORD_NONE)
		at = record_add_hashed(map, hash_number(id), &(struct id_map_entry){.id = id});
	return at != RECORD_NONE ? &map->list[at].value : NULL;
}

void id_map_remove(struct id_map *map, uint32_t id)
{
	uint32_t at = find(map, id);

	if (at != RECORD_NONE)
		record_set_remove_hashed(&map->set, at, hash_number(id),
					 hash_number(map->list[map->count - 1].id),
					 sizeof(*map->list));
}

bool id_map_next(const struct id_map *map, uint32_t *position, uint32_t *id, uint64_t *value)
{
	if (*position >= map->count)
		return false;
	*id = map->list[*position].id;
	*value = map->list[(*position)++].value;
	return true;
}

void id_map_release(struct id_map *map)
{
	record_set_release(&map->set);
}
