// SPDX-License-Identifier: MIT
#include "profiler/model/launch_index.h"

#include <errno.h>

static uint64_t key_of(uint32_t process, uint32_t correlation)
{
	return (uint64_t)process << 32 | correlation;
}

/* Makes the newer generation the older one, with an empty one after it. */
static void begin_generation(struct launch_index *index)
{
	struct record_set full = index->newer.set;

	index->newer.set = index->older.set;
	index->older.set = full;
	record_set_clear(&index->newer.set);
}

int launch_index_add(struct launch_index *index, uint32_t process, uint32_t correlation,
		     struct indexed_launch launch)
{
	uint32_t hash, at;

	launch.key = key_of(process, correlation);
	hash = hash_number(launch.key);

	if (!correlation)
		return 0;
	at = record_find_hashed(&index->newer, hash, &launch.key);
	if (at != RECORD_NONE) {
		index->newer.list[at] = launch;
		return 0;
	}
	if (index->newer.count >= (index->limit ? index->limit : LAUNCH_INDEX_ENTRIES))
		begin_generation(index);
	at = record_add_hashed(&index->newer, hash, &launch);
	return at == RECORD_NONE ? -ENOMEM : 0;
}

const struct indexed_launch *launch_index_find(const struct launch_index *index, uint32_t process,
					       uint32_t correlation)
{
	const uint64_t key = key_of(process, correlation);
	const uint32_t hash = hash_number(key);
	uint32_t at;

	if (!correlation)
		return NULL;
	at = record_find_hashed(&index->newer, hash, &key);
	if (at != RECORD_NONE)
		return &index->newer.list[at];
	at = record_find_hashed(&index->older, hash, &key);
	return at == RECORD_NONE ? NULL : &index->older.list[at];
}

void launch_index_release(struct launch_index *index)
{
	record_set_release(&index->newer.set);
	record_set_release(&index->older.set);
}
