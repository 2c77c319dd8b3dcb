// SPDX-License-Identifier: MIT
#include "profiler/model/launch_finder.h"

#include <errno.h>
#include <stdlib.h>

/* A part of the timeline. */
struct chunk {
	struct timeline_record records[LAUNCH_FINDER_AHEAD];
	uint32_t count;
};

struct launch_finder {
	const struct result *result;
	launch_taker take;
	void *context;
	struct launch_index index;
	uint64_t read;  /* records of the timeline */
	uint64_t added; /* launches */
	uint32_t next;  /* record of the first chunk that is returned next */
	bool has_begun;
	struct chunk *chunks[2]; /* the chunk that is returned, and the one after it */
};

struct launch_finder *launch_finder_new(const struct result *result, launch_taker take,
					void *context)
{
	struct launch_finder *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->result = result;
	f->take = take;
	f->context = context;
	f->chunks[0] = malloc(sizeof(*f->chunks[0]));
	f->chunks[1] = malloc(sizeof(*f->chunks[1]));
	if (f->chunks[0] && f->chunks[1])
		return f;
	launch_finder_free(f);
	return NULL;
}

void launch_finder_free(struct launch_finder *f)
{
	if (!f)
		return;
	free(f->chunks[0]);
	free(f->chunks[1]);
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

/* Adds the launches of a chunk to the index. Returns 0 or -errno. */
static int take_launches(struct launch_finder *f, const struct chunk *chunk)
{
	int err = 0;

	for (uint32_t i = 0; i < chunk->count && !err; i++) {
		const struct timeline_record *record = &chunk->records[i];

		if (record->kind != TIMELINE_LAUNCH)
			continue;
		err = launch_index_add(&f->index, process_of(f, record), record->correlation,
				       describe(f, record));
		f->added++;
		if (!err && f->take)
			err = f->take(f->context, record);
	}
	return err;
}

/* Reads the next chunk of the timeline, which is empty at its end. Returns 0 or -errno. */
static int read_chunk(struct launch_finder *f, struct chunk *chunk)
{
	uint64_t rest = timeline_stats(f->result->timeline).records - f->read;
	int err;

	chunk->count = rest < LAUNCH_FINDER_AHEAD ? (uint32_t)rest : LAUNCH_FINDER_AHEAD;
	err = timeline_read(f->result->timeline, f->read, chunk->count, chunk->records);
	f->read += chunk->count;
	return err ? err : take_launches(f, chunk);
}

/* Goes on to the next chunk. Returns 0 or -errno. */
static int advance(struct launch_finder *f)
{
	struct chunk *passed = f->chunks[0];
	int err = f->has_begun ? 0 : read_chunk(f, f->chunks[1]);

	f->has_begun = true;
	f->chunks[0] = f->chunks[1];
	f->chunks[1] = passed;
	f->next = 0;
	return err ? err : read_chunk(f, f->chunks[1]);
}

int launch_finder_next(struct launch_finder *f, const struct timeline_record **record,
		       const struct indexed_launch **launch)
{
	const struct timeline_record *r;
	int err = f->has_begun && f->next < f->chunks[0]->count ? 0 : advance(f);

	*launch = NULL;
	if (err)
		return err;
	if (f->next == f->chunks[0]->count)
		return 0;
	*record = r = &f->chunks[0]->records[f->next++];
	if (r->kind != TIMELINE_GPU_OPERATION)
		return 1;
	*launch = launch_index_find(&f->index, process_of(f, r), r->correlation);
	if (*launch && (*launch)->start_ns > r->start_ns)
		*launch = NULL;
	return 1;
}
