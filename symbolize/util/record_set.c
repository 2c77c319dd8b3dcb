// SPDX-License-Identifier: MIT
#include "symbolize/util/record_set.h"

#include <stdlib.h>

void record_set_reindex(struct record_set *set, size_t key_size, size_t record_size)
{
	const char *record = set->records;

	hash_index_clear(&set->index);
	for (uint32_t i = 0; i < set->count; i++, record += record_size)
		hash_index_add(&set->index, hash_bytes(record, key_size),
			       i); /* cannot fail: there is room */
}

void record_set_remove_hashed(struct record_set *set, uint32_t at, uint32_t hash,
			      uint32_t last_hash, size_t record_size)
{
	char *removed = (char *)set->records + at * record_size;
	const char *last = (const char *)set->records + --set->count * record_size;

	hash_index_remove(&set->index, hash, at);
	if (at == set->count)
		return;
	hash_index_move(&set->index, last_hash, set->count, at);
	memcpy(removed, last, record_size);
}

void record_set_remove(struct record_set *set, uint32_t at, size_t key_size, size_t record_size)
{
	const char *records = set->records;

	record_set_remove_hashed(set, at, hash_bytes(records + at * record_size, key_size),
				 hash_bytes(records + (set->count - 1) * record_size, key_size),
				 record_size);
}

void record_set_clear(struct record_set *set)
{
	hash_index_clear(&set->index);
	set->count = 0;
}

void record_set_release(struct record_set *set)
{
	free(set->records);
	hash_index_release(&set->index);
	*set = (struct record_set){0};
}
