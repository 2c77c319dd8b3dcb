// SPDX-License-Identifier: MIT
#include "profiler/shape/rank_waits.h"

#include <errno.h>
#include <stdlib.h>
#include "profiler/tables/collectives.h"

struct rank_waits {
	struct collectives *collectives;         /* an operation's id is the record's position */
	bool *is_compared;                       /* by frame */
	const struct collective_operation *list; /* in the order of records */
	uint32_t count, next;
};

static void add_record(struct rank_waits *w, const struct result *r,
		       const struct timeline_record *record, uint64_t number)
{
	uint32_t stack, kernel, rank;
	const struct rank_info *info;
	const struct place *place;
	struct collective_line line;

	if (record->kind != TIMELINE_GPU_OPERATION || record->place.number >= r->place_count)
		return;
	stack = result_record_stack(r, record);
	if (stack == RESULT_ROOT)
		return;
	kernel = r->stacks[stack].frame;
	place = &r->places[record->place.number];
	if (!w->is_compared[kernel] ||
	    !place_names_rank(r->place_names, place->part[PLACE_PROCESS], &rank))
		return;
	info = ranks_find(r->ranks, r->rank_count, rank);
	if (!info)
		return;
	line = collective_line_at(place, kernel, rank, info->clock);
	line.comm = collectives_comm(r, stack);
	collectives_add(w->collectives, &line, record->start_ns, record->duration_ns, number);
}

/* Returns 0, or -errno. */
static int read_records(struct rank_waits *w, const struct result *r)
{
	struct timeline_reader *reader = timeline_reader_new(r->timeline);
	const struct timeline_record *record;
	uint64_t number = 0;
	int more;

	if (!reader)
		return -ENOMEM;
	while ((more = timeline_reader_next(reader, &record)) == 1)
		add_record(w, r, record, number++);
	timeline_reader_free(reader);
	return more;
}

/* Finds the waits. Times are aligned already. Returns false if out of memory. */
static bool find(struct rank_waits *w, const struct result *r)
{
	struct collective_clock *clocks = calloc(r->rank_count + 1u, sizeof(*clocks));

	if (!clocks)
		return false;
	for (uint32_t i = 0; i < r->rank_count; i++)
		clocks[i].alignment.reference = i;
	for (uint32_t i = 0; i < r->rank_count; i++)
		clocks[r->ranks[i].clock].alignment = r->ranks[i].alignment;
	collectives_find(w->collectives, clocks, r->rank_count);
	free(clocks);
	return true;
}

struct rank_waits *rank_waits_new(const struct result *result, struct quota *memory)
{
	struct rank_waits *w = calloc(1, sizeof(*w));
	int err = -ENOMEM;

	if (!w) {
		errno = ENOMEM;
		return NULL;
	}
	w->collectives = collectives_new(memory);
	w->is_compared = calloc(result->frame_count + 1u, sizeof(*w->is_compared));
	if (w->collectives && w->is_compared) {
		for (uint32_t i = 1; i < result->stack_count; i++) {
			uint32_t frame = result->stacks[i].frame;

			w->is_compared[frame] = collectives_is_compared(&result->frames[frame]);
		}
		err = read_records(w, result);
	}
	if (!err && !find(w, result))
		err = -ENOMEM;
	if (err) {
		rank_waits_free(w);
		errno = -err;
		return NULL;
	}
	w->list = collectives_list(w->collectives, &w->count);
	return w;
}

void rank_waits_free(struct rank_waits *w)
{
	if (!w)
		return;
	collectives_free(w->collectives);
	free(w->is_compared);
	free(w);
}

uint64_t rank_waits_next(struct rank_waits *w, uint64_t number, uint32_t *rank)
{
	while (w->next < w->count && w->list[w->next].id < number)
		w->next++;
	if (w->next == w->count || w->list[w->next].id != number)
		return 0;
	*rank = w->list[w->next].last;
	return w->list[w->next].wait_ns;
}
