/* SPDX-License-Identifier: MIT */
/*
 * Maps hashes to positions in the caller's own array, by open addressing.
 *
 * The index stores no keys: the caller keeps the records, hashes them, and compares them through a
 * callback. So one table serves processes, modules, strings and addresses alike. Hashes come from
 * hash.h.
 *
 * Zero-initialised is empty and valid. Not thread-safe. Errors: 0 or -errno.
 */
#ifndef SYMBOLIZE_UTIL_HASH_INDEX_H
#define SYMBOLIZE_UTIL_HASH_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "symbolize/util/hash.h"

#define HASH_INDEX_NONE UINT32_MAX

struct hash_slot {
	uint32_t hash;
	uint32_t position; /* HASH_INDEX_NONE: free */
};

/* bytes of slots per entry, at most: just after the table has doubled */
#define HASH_INDEX_ENTRY_BYTES (4 * sizeof(struct hash_slot))

struct hash_index {
	struct hash_slot *slots;
	uint32_t capacity; /* 0 or a power of two */
	uint32_t used;
};

/* Compares the record at `position` of `records` with `key`. */
typedef bool (*hash_index_equal)(const void *records, uint32_t position, const void *key);

/*
 * Returns the position of the record with `key`, or HASH_INDEX_NONE. Inline, so that `equal` is
 * inlined, too.
 */
static inline uint32_t hash_index_find(const struct hash_index *index, uint32_t hash,
				       hash_index_equal equal, const void *records, const void *key)
{
	uint32_t mask = index->capacity - 1;

	if (index->capacity == 0)
		return HASH_INDEX_NONE;
	for (uint32_t i = hash & mask;; i = (i + 1) & mask) {
		const struct hash_slot *slot = &index->slots[i];

		if (slot->position == HASH_INDEX_NONE)
			return HASH_INDEX_NONE;
		if (slot->hash == hash && equal(records, slot->position, key))
			return slot->position;
	}
}

/* Adds a position that is not in the index yet. Returns 0, or -ENOMEM: nothing has changed. */
int hash_index_add(struct hash_index *index, uint32_t hash, uint32_t position);

/* Removes a position with its hash; no effect if the index lacks it. */
void hash_index_remove(struct hash_index *index, uint32_t hash, uint32_t position);

/* Renumbers the record at `from` as `to`; no effect if the index lacks it. */
void hash_index_move(struct hash_index *index, uint32_t hash, uint32_t from, uint32_t to);

/* Removes all positions and keeps the memory: as many as before can be added without -ENOMEM. */
void hash_index_clear(struct hash_index *index);

void hash_index_release(struct hash_index *index);

#endif
