/* SPDX-License-Identifier: MIT */
/*
 * Maps ids to 64-bit values. Sparse ids cost no more than dense ones.
 *
 * Zero-initialised is empty and valid. The caller bounds the number of entries. Not thread-safe.
 */
#ifndef SYMBOLIZE_UTIL_ID_MAP_H
#define SYMBOLIZE_UTIL_ID_MAP_H

#include <stdbool.h>
#include <stdint.h>
#include "symbolize/util/record_set.h"

struct id_map_entry {
	uint32_t id;
	uint64_t value;
};

struct id_map {
	RECORD_SET(struct id_map_entry);
};

/* Returns the value of `id`, or NULL if it has none. Valid until the next change. */
uint64_t *id_map_find(const struct id_map *map, uint32_t id);

/*
 * Returns the value of `id`, added as 0 if necessary; NULL when out of memory. Valid until the next
 * change.
 */
uint64_t *id_map_get(struct id_map *map, uint32_t id);

/* Removes `id` if the map has it. */
void id_map_remove(struct id_map *map, uint32_t id);

/*
 * Returns the next entry from `*position` on, 0 at first, in no order. Returns false after the
 * last.
 */
bool id_map_next(const struct id_map *map, uint32_t *position, uint32_t *id, uint64_t *value);

void id_map_release(struct id_map *map);

#endif
