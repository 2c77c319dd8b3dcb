// SPDX-License-Identifier: MIT
#include "profiler/model/launch_finder.h"

#include <errno.h>
#include <stdlib.h>

struct launch_finder {
	const struct result *result;
	struct timeline_reader *ahead;
	struct launch_index index;
	uint64_t added, passed; /* launches read ahead; launches taken by the caller */
	bool is_at_end;
	int error;
};

struct launch_finder *launch_finder_new(const struct result *result)
{
	struct launch_finder *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->result = result;
	f->ahead = timeline_reader_new(result->timeline);
	if (f->ahead)
		return f;
	free(f);
	return NULL;
}

void launch_finder_free(struct launch_finder *f)
{
	if (!f)
		return;
	timeline_reader_free(f->ahead);
	launch_index_release(&f->index);
	free(f);
}

/* Returns the process of a record; PLACE_UNKNOWN if there is no such place. */
static uint32_t process_of(const struct launch_finder *f, const struct timeline_record *record)
{
	const struct result *r = f->result;

	return record->place.number < r->place_count
		       ? r->places[record->place.number].part[PLACE_PROCESS]
		       : PLACE_UNKNOWN;
}

static struct indexed_launch describe(const struct launch_finder *f,
				      const struct timeline_record *record)
{
	return (struct indexed_launch){.start_ns = record->start_ns,
				       .thread = record->place.number,
				       .stack = result_record_stack(f->result, record),
				       .number = (uint32_t)f->added,
				       .call_ns = record->duration_ns < UINT32_MAX
							  ? (uint32_t)record->duration_ns
							  : UINT32_MAX};
}

/* Reads launches until LAUNCH_FINDER_AHEAD of them are ahead of the caller. */
static void read_ahead(struct launch_finder *f)
{
	const struct timeline_record *record;
	int more = 1;

	while (!f->is_at_end && f->added - f->passed <= LAUNCH_FINDER_AHEAD) {
		more = timeline_reader_next(f->ahead, &record);
		if (more == 1 && record->kind == TIMELINE_LAUNCH) {
			f->error = launch_index_add(&f->index, process_of(f, record),
						    record->correlation, describe(f, record));
			f->added++;
		}
		if (more < 0)
			f->error = more;
		f->is_at_end = more != 1 || f->error;
	}
}

const struct indexed_launch *launch_finder_next(struct launch_finder *f,
						const struct timeline_record *record)
{
	const struct indexed_launch *launch;

	read_ahead(f);
	f->passed += record->kind == TIMELINE_LAUNCH;
	if (record->kind != TIMELINE_GPU_OPERATION || f->error)
		return NULL;
	launch = launch_index_find(&f->index, process_of(f, record), record->correlation);
	return launch && launch->start_ns <= record->start_ns ? launch : NULL;
}

int launch_finder_error(const struct launch_finder *f)
{
	return f->error;
}
