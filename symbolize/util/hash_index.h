/* SPDX-License-Identifier: MIT */
/*
 * An open-addressing index from hashes to positions in the caller's own array.
 *
 * The index stores no keys: the caller keeps the records, hashes them, and compares them through a
 * callback. One small table thus serves processes, modules, interned strings and named addresses
 * alike. Hashes come from hash.h.
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

/* An entry's share of the slots, at most: that of the first one after they have doubled. */
#define HASH_INDEX_ENTRY_BYTES (4 * sizeof(struct hash_slot))

struct hash_index {
	struct hash_slot *slots;
	uint32_t capacity; /* 0 or a power of two */
	uint32_t used;
};

/* Whether the record at `position` of `records` has the key `key`. */
typedef bool (*hash_index_equal)(const void *records, uint32_t position, const void *key);

/* The position of the record with `key`, or HASH_INDEX_NONE. Inline, and `equal` with it. */
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

/* Adds a position that is not in the index yet. On -ENOMEM the index is unchanged. */
int hash_index_add(struct hash_index *index, uint32_t hash, uint32_t position);

/* Removes a position added with the same arguments; no effect if it is not there. */
void hash_index_remove(struct hash_index *index, uint32_t hash, uint32_t position);

/* The record at `from` is at `to` from now on; no effect if it is not there. */
void hash_index_move(struct hash_index *index, uint32_t hash, uint32_t from, uint32_t to);

/*
 * Removes all, and keeps the room: as many as there were can be added again without -ENOMEM.
 */
void hash_index_clear(struct hash_index *index);

void hash_index_release(struct hash_index *index);

#endif
