/* SPDX-License-Identifier: MIT */
/*
 * Keeps distinct records of one type, numbered from 0 in the order in which they were added.
 *
 *	struct sum { uint32_t stack, place; uint64_t ns; };
 *	RECORD_SET(struct sum) sums = {0};
 *	const uint32_t key[] = {stack, place};
 *	uint32_t at = record_get(&sums, &key, &((struct sum){stack, place, 0}));
 *
 *	if (at == RECORD_NONE)
 *		return -ENOMEM;
 *	sums.list[at].ns += ns;
 *	...
 *	record_set_release(&sums.set);
 *
 * A record begins with its key, which is compared as bytes: set all of them, padding included. The
 * size of the key is that of the object that `key` points to. Each set has keys of one size. For
 * other keys, such as texts, record_find_equal compares through a callback. Functions called
 * ..._hashed take the caller's hash. The caller checks its limits before adding.
 *
 * Zero-initialised is empty and valid. Records move when the set grows: keep numbers, not pointers.
 * Not thread-safe.
 */
#ifndef SYMBOLIZE_UTIL_RECORD_SET_H
#define SYMBOLIZE_UTIL_RECORD_SET_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "symbolize/util/array.h"
#include "symbolize/util/hash_index.h"

#define RECORD_NONE HASH_INDEX_NONE

struct record_set {
	void *records;
	uint32_t count, capacity;
	struct hash_index index;
};

/* A set of records of this type: `list`, `count` and `capacity`; `set` is for the functions. */
#define RECORD_SET(type)                          \
	union {                                   \
		struct record_set set;            \
		struct {                          \
			type *list;               \
			uint32_t count, capacity; \
		};                                \
	}

/* Bytes by which equal records are found; constants where these functions are inlined. */
struct record_key {
	const void *bytes;
	size_t size, record_size;
};

/* Returns whether the record at `position` begins with the key. */
static inline bool record_has_key(const void *records, uint32_t position, const void *key)
{
	const struct record_key *k = key;

	return memcmp((const char *)records + position * k->record_size, k->bytes, k->size) == 0;
}

/* Returns the number of the record with the key, or RECORD_NONE. */
static inline uint32_t record_set_find(const struct record_set *set, uint32_t hash, const void *key,
				       size_t key_size, size_t record_size)
{
	const struct record_key k = {key, key_size, record_size};

	return hash_index_find(&set->index, hash, record_has_key, set->records, &k);
}

/* Adds a record that is not in the set. Returns its number, or RECORD_NONE when out of memory. */
static inline uint32_t record_set_add(struct record_set *set, uint32_t hash, const void *record,
				      size_t size)
{
	if (!array_make_room(&set->records, set->count, &set->capacity, size) ||
	    hash_index_add(&set->index, hash, set->count) != 0)
		return RECORD_NONE;
	memcpy((char *)set->records + set->count * size, record, size);
	return set->count++;
}

/*
 * Returns the number of the record with the key, adding `record` if there is none; RECORD_NONE when
 * out of memory.
 */
static inline uint32_t record_set_get(struct record_set *set, const void *key, size_t key_size,
				      const void *record, size_t record_size)
{
	uint32_t hash = hash_bytes(key, key_size);
	uint32_t at = record_set_find(set, hash, key, key_size, record_size);

	return at != RECORD_NONE ? at : record_set_add(set, hash, record, record_size);
}

/*
 * Indexes the records again, after the caller has removed some from the list or changed keys.
 * Cannot fail: there are at most as many as before.
 */
void record_set_reindex(struct record_set *set, size_t key_size, size_t record_size);

/* Removes the record at `at`, and moves the last record there. */
void record_set_remove(struct record_set *set, uint32_t at, size_t key_size, size_t record_size);

/* Does this with the caller's hashes: of the record at `at`, and of the last record. */
void record_set_remove_hashed(struct record_set *set, uint32_t at, uint32_t hash,
			      uint32_t last_hash, size_t record_size);

/* Removes all records and keeps the memory. */
void record_set_clear(struct record_set *set);

void record_set_release(struct record_set *set);

/* `s` points to a RECORD_SET. Each returns the number of a record, or RECORD_NONE. */
#define record_find(s, key) record_find_hashed(s, hash_bytes((key), sizeof(*(key))), key)
#define record_find_hashed(s, hash, key) \
	record_set_find(&(s)->set, (hash), (key), sizeof(*(key)), sizeof(*(s)->list))
#define record_find_equal(s, hash, equal, key) \
	hash_index_find(&(s)->set.index, (hash), (equal), (s)->list, (key))
#define record_get(s, key, record) \
	record_set_get(&(s)->set, (key), sizeof(*(key)), (record), sizeof(*(s)->list))
#define record_add(s, key, record) record_add_hashed(s, hash_bytes((key), sizeof(*(key))), record)
#define record_add_hashed(s, hash, record) \
	record_set_add(&(s)->set, (hash), (record), sizeof(*(s)->list))

/* Call record_set_remove and record_set_reindex for keys of this type. */
#define record_remove(s, key_type, at) \
	record_set_remove(&(s)->set, (at), sizeof(key_type), sizeof(*(s)->list))
#define record_reindex(s, key_type) \
	record_set_reindex(&(s)->set, sizeof(key_type), sizeof(*(s)->list))

#endif
