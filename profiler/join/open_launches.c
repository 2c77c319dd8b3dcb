// SPDX-License-Identifier: MIT
#include "profiler/join/open_launches.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include "symbolize/util/array.h"

static bool is_at_place(const void *records, uint32_t position, const void *key)
{
	const struct open_launch *launch = (const struct open_launch *)records + position;

	return same_id(launch->item.record.place, *(const struct place_id *)key);
}

/* Returns the position of the thread's launch, or HASH_INDEX_NONE. */
static uint32_t find(const struct open_launches *o, struct place_id place)
{
	return hash_index_find(&o->index, hash_number(place.number), is_at_place, o->launches,
			       &place);
}

/* Records and removes the launch, moving the last one into the hole. */
static void finish(struct open_launches *o, uint32_t at)
{
	uint32_t last = --o->count;

	profile_sink_add(o->sink, &o->launches[at].item);
	hash_index_remove(&o->index, hash_number(o->launches[at].item.record.place.number), at);
	hash_index_move(&o->index, hash_number(o->launches[last].item.record.place.number), last,
			at);
	o->launches[at] = o->launches[last];
}

int open_launches_begin(struct open_launches *o, uint32_t process, const struct profile_item *item)
{
	struct place_id place = item->record.place;
	uint32_t at = find(o, place);

	if (at != HASH_INDEX_NONE) {
		profile_sink_add(o->sink, &o->launches[at].item);
		o->launches[at] = (struct open_launch){*item, process};
		return 0;
	}
	if (!array_make_room(&o->launches, o->count, &o->capacity, sizeof(*o->launches)) ||
	    hash_index_add(&o->index, hash_number(place.number), o->count) != 0) {
		profile_sink_add(o->sink, item);
		return -ENOMEM;
	}
	o->launches[o->count++] = (struct open_launch){*item, process};
	return 0;
}

void open_launches_end(struct open_launches *o, struct place_id place,
		       const struct gpu_event_launch_end *end)
{
	uint32_t at = find(o, place);
	struct timeline_record *record;

	if (at == HASH_INDEX_NONE)
		return;
	record = &o->launches[at].item.record;
	if (record->correlation != end->correlation_id)
		return;
	record->duration_ns = end->duration_ns;
	record->error = timeline_error(end->error);
	finish(o, at);
}

void open_launches_visit(struct open_launches *o, const struct id_visitor *v)
{
	hash_index_clear(&o->index);
	for (uint32_t i = 0; i < o->count; i++) {
		struct timeline_record *record = &o->launches[i].item.record;

		visit_stack(v, &record->stack);
		visit_place(v, &record->place);
		hash_index_add(&o->index, hash_number(record->place.number), i);
	}
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
