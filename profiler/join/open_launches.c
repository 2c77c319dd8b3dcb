// SPDX-License-Identifier: MIT
#include "profiler/join/open_launches.h"

#include <errno.h>
#include <stdbool.h>

/* Records and removes the launch, moving the last one into the hole. */
static void finish(struct open_launches *o, uint32_t at)
{
	profile_sink_add(o->sink, &o->launches.list[at].item);
	record_remove(&o->launches, struct place_id, at);
}

int open_launches_begin(struct open_launches *o, uint32_t process, const struct profile_item *item)
{
	const struct open_launch launch = {item->record.place, process, *item};
	uint32_t at = record_find(&o->launches, &launch.place);

	if (at != RECORD_NONE) {
		profile_sink_add(o->sink, &o->launches.list[at].item);
		o->launches.list[at] = launch;
	} else if (record_add(&o->launches, &launch.place, &launch) == RECORD_NONE) {
		profile_sink_add(o->sink, item);
		return -ENOMEM;
	}
	return 0;
}

void open_launches_end(struct open_launches *o, struct place_id place,
		       const struct gpu_event_launch_end *end)
{
	uint32_t at = record_find(&o->launches, &place);
	struct timeline_record *record;

	if (at == RECORD_NONE)
		return;
	record = &o->launches.list[at].item.record;
	if (record->correlation != end->correlation_id)
		return;
	record->duration_ns = end->duration_ns;
	record->error = timeline_error(end->error);
	finish(o, at);
}

void open_launches_visit(struct open_launches *o, const struct id_visitor *v)
{
	for (uint32_t i = 0; i < o->launches.count; i++) {
		struct open_launch *launch = &o->launches.list[i];

		visit_stack(v, &launch->item.record.stack);
		visit_place(v, &launch->item.record.place);
		launch->place = launch->item.record.place;
	}
	record_reindex(&o->launches, struct place_id);
}

void open_launches_forget(struct open_launches *o, uint32_t process)
{
	for (uint32_t i = o->launches.count; i-- > 0;)
		if (o->launches.list[i].process == process)
			finish(o, i);
}

void open_launches_release(struct open_launches *o)
{
	record_set_release(&o->launches.set);
}
