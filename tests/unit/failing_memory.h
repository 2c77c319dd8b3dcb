/* SPDX-License-Identifier: MIT */
/*
 * Memory that can run out. The test program is linked with --wrap of the functions below (UNSURE in
 * tests/rules.mk). The library's calls of array_make_room go to __wrap_array_make_room.
 * __real_array_make_room is the library's own function.
 */
#ifndef TESTS_UNIT_FAILING_MEMORY_H
#define TESTS_UNIT_FAILING_MEMORY_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include "symbolize/util/array.h"
#include "symbolize/util/hash_index.h"
#include "symbolize/util/id_map.h"

/* The one that fails, counted from now; 0: none does. */
static uint32_t failing_allocation;

static inline bool fails_now(void)
{
	return failing_allocation && --failing_allocation == 0;
}

bool __real_array_make_room(void *items, uint32_t count, uint32_t *capacity, size_t size);
bool __wrap_array_make_room(void *items, uint32_t count, uint32_t *capacity, size_t size);
int __real_hash_index_add(struct hash_index *index, uint32_t hash, uint32_t position);
int __wrap_hash_index_add(struct hash_index *index, uint32_t hash, uint32_t position);
uint64_t *__real_id_map_get(struct id_map *map, uint32_t id);
uint64_t *__wrap_id_map_get(struct id_map *map, uint32_t id);

bool __wrap_array_make_room(void *items, uint32_t count, uint32_t *capacity, size_t size)
{
	return !fails_now() && __real_array_make_room(items, count, capacity, size);
}

int __wrap_hash_index_add(struct hash_index *index, uint32_t hash, uint32_t position)
{
	return fails_now() ? -ENOMEM : __real_hash_index_add(index, hash, position);
}

uint64_t *__wrap_id_map_get(struct id_map *map, uint32_t id)
{
	return fails_now() ? NULL : __real_id_map_get(map, id);
}

#endif
