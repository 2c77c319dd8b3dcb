// SPDX-License-Identifier: MIT
#include "profiler/shape/merge_private.h"

#include <stdio.h>
#include <stdlib.h>
#include "symbolize/util/saturate.h"
#include "symbolize/util/sorted.h"

/* A row of a kernel that is a collective. */
struct collective_row {
	uint32_t stack, place; /* key */
	uint32_t row;
};

/* The time of a row that is a wait for a rank. */
struct rank_wait {
	uint32_t row, last; /* key */
	uint64_t ns;
};

struct split_rows {
	RECORD_SET(struct collective_row) rows;
	RECORD_SET(struct rank_wait) waits;
};

void merge_note_collective(struct adding *a, const struct timeline_record *record,
			   const struct timeline_record *r)
{
	struct merge *m = a->m;
	uint32_t stack = result_record_stack(a->run, record);
	struct collective_line line;

	if (record->kind != TIMELINE_GPU_OPERATION || stack == RESULT_ROOT ||
	    record->place.number >= a->run->place_count ||
	    !a->is_compared[a->run->stacks[stack].frame])
		return;
	line = collective_line_at(&a->run->places[record->place.number],
				  m->stacks.list[r->stack.number].frame, a->rank, a->clock);
	line.comm = collectives_comm(a->run, stack);
	collectives_add(m->collectives, &line, r->start_ns, r->duration_ns,
			(uint64_t)r->stack.number << 32 | r->place.number);
	m->ranks[m->rank_count - 1].info.alone++; /* until peers are found */
}

static void index_rows(struct merge *m, struct split_rows *w)
{
	const struct row *rows = m->rows.items;

	for (uint32_t i = 0; i < m->rows.count && !m->error; i++) {
		const struct collective_row row = {rows[i].stack, rows[i].place, i};
		const uint32_t key[] = {row.stack, row.place};

		if (rows[i].kind == ROW_GPU && row.stack != RESULT_ROOT &&
		    collectives_is_compared(
			    &m->stacks.frames.list[m->stacks.list[row.stack].frame]) &&
		    record_get(&w->rows, &key, &row) == RECORD_NONE)
			merge_fail(m, MERGE_NO_MEMORY);
	}
}

static void add_wait(struct merge *m, struct split_rows *w, const struct collective_operation *o)
{
	const uint32_t id[] = {(uint32_t)(o->id >> 32), (uint32_t)o->id};
	uint32_t row = record_find(&w->rows, &id), key[] = {0, o->last}, at;

	if (row == RECORD_NONE)
		return; /* the row is split by --stalls, or not there */
	key[0] = w->rows.list[row].row;
	at = record_find(&w->waits, &key);
	if (at == RECORD_NONE && merge_take(m, sizeof(struct rank_wait))) {
		at = record_add(&w->waits, &key, &((struct rank_wait){key[0], key[1], 0}));
		if (at == RECORD_NONE)
			merge_fail(m, MERGE_NO_MEMORY);
	}
	if (at != RECORD_NONE)
		saturated_add(&w->waits.list[at].ns, o->wait_ns);
}

/* Moves the time of a wait to a row of its own, below the kernel. */
static void split_row(struct merge *m, const struct rank_wait *wait)
{
	struct row *row = (struct row *)m->rows.items + wait->row, part = *row;
	struct frame_info frame = {.class = CLASS_WAIT};
	char name[sizeof(PSEUDO_WAITING_FOR_RANK) + 16];
	uint32_t number;

	snprintf(name, sizeof(name), PSEUDO_WAITING_FOR_RANK "%u]", wait->last);
	frame.name = frame.short_name = name;
	number = merge_add_frame(m, &frame);
	part.count = 0;
	part.bytes = 0;
	part.ns = wait->ns < row->ns ? wait->ns : row->ns;
	if (part.ns == 0 || m->error)
		return;
	part.stack = merge_push(m, row->stack, number);
	row->ns -= part.ns;
	if (!m->error)
		merge_append(m, &m->rows, &part, sizeof(part));
}

void merge_split_collectives(struct merge *m)
{
	struct split_rows w = {.rows = {{NULL}}};
	const struct collective_operation *list;
	uint32_t count;

	collectives_find(m->collectives, m->aligned, m->clock_count);
	list = collectives_list(m->collectives, &count);
	if (count)
		index_rows(m, &w);
	for (uint32_t i = 0; i < count && !m->error; i++) {
		const struct rank_info key = {.rank = list[i].rank};
		struct rank_info *rank =
			bsearch(&key, m->sorted, m->rank_count, sizeof(key), sorted_compare_32);

		if (list[i].last == COLLECTIVES_ALONE)
			continue;
		rank->alone--;
		rank->collectives++;
		rank->came_last += list[i].verdict == COLLECTIVE_LAST;
		rank->undecided += list[i].verdict == COLLECTIVE_UNDECIDED;
		if (list[i].wait_ns)
			add_wait(m, &w, &list[i]);
	}
	for (uint32_t i = 0; i < w.waits.count && !m->error; i++)
		split_row(m, &w.waits.list[i]);
	record_set_release(&w.rows.set);
	record_set_release(&w.waits.set);
	collectives_free(m->collectives);
	m->collectives = NULL;
}
