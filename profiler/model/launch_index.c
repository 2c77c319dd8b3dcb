// SPDX-License-Identifier: MIT
#include "profiler/model/launch_index.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#define SETS (LAUNCH_INDEX_ENTRIES / LAUNCH_INDEX_WAYS)

static uint64_t key_of(uint32_t process, uint32_t correlation)
{
	return (uint64_t)process << 32 | correlation;
}

/*
 * Returns the first entry of the set. Processes with numbers that follow each other begin at places
 * far from each other: multiples of the golden ratio.
 */
static struct indexed_launch *set_of(const struct launch_index *index, uint32_t process,
				     uint32_t correlation)
{
	uint32_t begin = process * UINT32_C(0x9e3779b1) / (uint32_t)(UINT64_C(0x100000000) / SETS);
	uint32_t set = (correlation / LAUNCH_INDEX_WAYS + begin) % SETS;

	return &index->entries[(size_t)set * LAUNCH_INDEX_WAYS];
}

int launch_index_add(struct launch_index *index, uint32_t process, uint32_t correlation,
		     struct indexed_launch launch)
{
	struct indexed_launch *set, *to;

	if (!correlation)
		return 0;
	if (!index->entries)
		index->entries = calloc(LAUNCH_INDEX_ENTRIES, sizeof(*index->entries));
	if (!index->entries)
		return -ENOMEM;
	launch.key = key_of(process, correlation);
	to = set = set_of(index, process, correlation);
	for (uint32_t i = 0; i < LAUNCH_INDEX_WAYS; i++) {
		if (set[i].key == launch.key) {
			to = &set[i];
			break;
		}
		if (to->key && (!set[i].key || set[i].start_ns < to->start_ns))
			to = &set[i];
	}
	*to = launch;
	return 0;
}

const struct indexed_launch *launch_index_find(const struct launch_index *index, uint32_t process,
					       uint32_t correlation)
{
	const uint64_t key = key_of(process, correlation);
	const struct indexed_launch *set;

	if (!correlation || !index->entries)
		return NULL;
	set = set_of(index, process, correlation);
	for (uint32_t i = 0; i < LAUNCH_INDEX_WAYS; i++)
		if (set[i].key == key)
			return &set[i];
	return NULL;
}

void launch_index_release(struct launch_index *index)
{
	free(index->entries);
	*index = (struct launch_index){.entries = NULL};
}
