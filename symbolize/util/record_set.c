// SPDX-License-Identifier: MIT
#include "symbolize/util/record_set.h"

#include <stdlib.h>

void record_set_reindex(struct record_set *set, size_t key_size, size_t record_size)
{
	const char *record = set->records;

	hash_index_clear(&set->index);
	for (uint32_t i = 0; i < set->count; i++, record += record_size)
		hash_index_add(&set->index, hash_bytes(record, key_size), i); /* there is room */
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
