// SPDX-License-Identifier: MIT
#include "profiler/collect/open_launches.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include "symbolize/array.h"

static bool is_at_place(const void *records, uint32_t position, const void *key)
{
	const struct open_launch *launch = (const struct open_launch *)records + position;

	return launch->record.place == *(const uint32_t *)key;
}

/* Its position, or HASH_INDEX_NONE. */
static uint32_t find(const struct open_launches *o, uint32_t place)
{
	return hash_index_find(&o->index, hash_number(place), is_at_place, o->launches, &place);
}

/* Records the launch, and moves the last one into the hole. */
static void finish(struct open_launches *o, uint32_t at)
{
	uint32_t last = --o->count;

	timeline_add(o->timeline, &o->launches[at].record);
	hash_index_remove(&o->index, hash_number(o->launches[at].record.place), at);
	hash_index_move(&o->index, hash_number(o->launches[last].record.place), last, at);
	o->launches[at] = o->launches[last];
}

int open_launches_begin(struct open_launches *o, uint32_t process,
			const struct timeline_record *record)
{
	uint32_t at = find(o, record->place);

	if (at != HASH_INDEX_NONE) {
		timeline_add(o->timeline, &o->launches[at].record);
		o->launches[at] = (struct open_launch){*record, process};
		return 0;
	}
	if (!array_make_room(&o->launches, o->count, &o->capacity, sizeof(*o->launches)) ||
	    hash_index_add(&o->index, hash_number(record->place), o->count) != 0) {
		timeline_add(o->timeline, record);
		return -ENOMEM;
	}
	o->launches[o->count++] = (struct open_launch){*record, process};
	return 0;
}

void open_launches_end(struct open_launches *o, uint32_t place, uint32_t correlation,
		       uint64_t duration_ns)
{
	uint32_t at = find(o, place);

	if (at == HASH_INDEX_NONE || o->launches[at].record.correlation != correlation)
		return;
	o->launches[at].record.duration_ns = duration_ns;
	finish(o, at);
}

void open_launches_forget(struct open_launches *o, uint32_t process)
{
	for (uint32_t i = o->count; i-- > 0;)
		if (o->launches[i].process == process)
			finish(o, i);
}

void open_launches_release(struct open_launches *o)
{
	free(o->launches);
	hash_index_release(&o->index);
	*o = (struct open_launches){0};
}
