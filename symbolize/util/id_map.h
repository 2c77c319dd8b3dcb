/* SPDX-License-Identifier: MIT */
/*
 * A map from ids to values. Sparse ids cost no more than dense ones.
 *
 * Open addressing, at most half full, 16 bytes an entry. Zero-initialised is empty and valid. The
 * caller bounds how many entries there are. Not thread-safe.
 */
#ifndef SYMBOLIZE_UTIL_ID_MAP_H
#define SYMBOLIZE_UTIL_ID_MAP_H

#include <stdbool.h>
#include <stdint.h>

struct id_map {
	struct id_map_entry *entries;
	uint32_t capacity; /* 0 or a power of two */
	uint32_t count;
};

/* Returns where the value of `id` is kept, or NULL if it has none. Valid until the next change. */
uint64_t *id_map_find(const struct id_map *map, uint32_t id);

/* Does the same, and makes it with the value 0 if need be; NULL when out of memory. */
uint64_t *id_map_get(struct id_map *map, uint32_t id);

/* Takes `id` out, if it is there. */
void id_map_remove(struct id_map *map, uint32_t id);

/* The next entry from `*position` on, 0 at first, in no order; false after the last. */
bool id_map_next(const struct id_map *map, uint32_t *position, uint32_t *id, uint64_t *value);

void id_map_release(struct id_map *map);

#endif
