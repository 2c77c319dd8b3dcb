/* SPDX-License-Identifier: MIT */
/*
 * Memory that can run out. A test with a built-in module includes this header first, and redirects
 * the module's calls:
 *
 *	#define record_set_add unsure_record
 *	#include "profiler/model/places.c"
 */
#ifndef TESTS_UNIT_UNSURE_H
#define TESTS_UNIT_UNSURE_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include "symbolize/util/id_map.h"
#include "symbolize/util/array.h"
#include "symbolize/util/hash_index.h"
#include "symbolize/util/record_set.h"

/* The one that fails, counted from now; 0: none does. */
static uint32_t failing_allocation;

static inline bool fails_now(void)
{
	return failing_allocation && --failing_allocation == 0;
}

static inline bool unsure_make_room(void *items, uint32_t count, uint32_t *capacity, size_t size)
{
	return !fails_now() && array_make_room(items, count, capacity, size);
}

static inline int unsure_add(struct hash_index *index, uint32_t hash, uint32_t position)
{
	return fails_now() ? -ENOMEM : hash_index_add(index, hash, position);
}

static inline uint32_t unsure_record(struct record_set *set, uint32_t hash, const void *record,
				     size_t size)
{
	return fails_now() ? RECORD_NONE : record_set_add(set, hash, record, size);
}

static inline uint64_t *unsure_get(struct id_map *map, uint32_t id)
{
	return fails_now() ? NULL : id_map_get(map, id);
}

#endif
