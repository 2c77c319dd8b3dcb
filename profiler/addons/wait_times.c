// SPDX-License-Identifier: MIT
#include "profiler/addons/wait_times.h"

#include <stdlib.h>
#include "symbolize/util/array.h"
#include "symbolize/util/saturate.h"
#include "symbolize/util/sorted.h"

#define LONGEST_NS (UINT64_C(1) << 38) /* initial age limit: some minutes */

struct wait_row {
	struct stack_id stack;
	struct place_id place;
	uint64_t known_ns, spread_ns; /* with and without known moments */
};

struct wait_part {
	uint32_t row; /* index in `rows` */
	struct stack_id stack;
	uint64_t ns;
};

/*
 * Returns the limit of kept times, which is also the limit of steps. Pieces of a thread's waits do
 * not overlap, so they pass each of its times once. The first time of a piece is exempt: it may
 * reach into many pieces.
 */
static uint32_t most_of(const struct wait_times *w)
{
	return w->most ? w->most : WAIT_TIMES_MAX;
}

void wait_times_release(struct wait_times *w)
{
	free(w->times);
	record_set_release(&w->rows.set);
	record_set_release(&w->parts.set);
	*w = (struct wait_times){.profile = w->profile,
				 .gpu_stacks = w->gpu_stacks,
				 .memory = w->memory,
				 .most = w->most};
}

/* ---- sums ---- */

/* Returns its index, or RECORD_NONE. */
static uint32_t find_row(const struct wait_times *w, struct stack_id stack, struct place_id place)
{
	const uint32_t key[] = {stack.number, place.number};

	return record_find(&w->rows, &key);
}

/* Finds or adds a row. Returns NULL if there is no room. */
static struct wait_row *get_row(struct wait_times *w, struct stack_id stack, struct place_id place)
{
	const struct wait_row row = {.stack = stack, .place = place};
	const uint32_t key[] = {stack.number, place.number};
	uint32_t at = find_row(w, stack, place);

	if (at == RECORD_NONE && quota_take(w->memory, sizeof(row) + HASH_INDEX_ENTRY_BYTES)) {
		at = record_add(&w->rows, &key, &row);
		if (at == RECORD_NONE)
			quota_return(w->memory, sizeof(row) + HASH_INDEX_ENTRY_BYTES);
	}
	return at == RECORD_NONE ? NULL : &w->rows.list[at];
}

static void add_part(struct wait_times *w, uint32_t row, struct stack_id stack, uint64_t ns)
{
	const struct wait_part part = {.row = row, .stack = stack, .ns = ns};
	const uint32_t key[] = {row, stack.number};
	uint32_t at = record_find(&w->parts, &key);

	if (at != RECORD_NONE)
		w->parts.list[at].ns += ns;
	else if (quota_take(w->memory, sizeof(part) + HASH_INDEX_ENTRY_BYTES) &&
		 record_add(&w->parts, &key, &part) == RECORD_NONE)
		quota_return(w->memory, sizeof(part) + HASH_INDEX_ENTRY_BYTES);
}

void wait_times_spread(struct wait_times *w, struct stack_id stack, struct place_id place,
		       uint64_t ns)
{
	struct wait_row *row = get_row(w, stack, place);

	if (row)
		saturated_add(&row->spread_ns, ns);
}

/* ---- times ---- */

/* Keeps the latest times, at most half of the limit. */
static void forget_oldest(struct wait_times *w)
{
	uint64_t newest_ns = 0, kept_ns = LONGEST_NS, from_ns;
	uint32_t left;

	for (uint32_t i = 0; i < w->count; i++)
		if (w->times[i].end_ns > newest_ns)
			newest_ns = w->times[i].end_ns;
	do {
		from_ns = newest_ns > kept_ns ? newest_ns - kept_ns : 0;
		left = 0;
		for (uint32_t i = 0; i < w->count; i++)
			left += w->times[i].end_ns > from_ns;
		kept_ns /= 2;
	} while (left > most_of(w) / 2);
	left = 0;
	for (uint32_t i = 0; i < w->count; i++)
		if (w->times[i].end_ns > from_ns)
			w->times[left++] = w->times[i];
	w->count = left;
	if (w->forgotten_ns < from_ns)
		w->forgotten_ns = from_ns;
}

static bool make_room(struct wait_times *w)
{
	if (w->count == most_of(w))
		forget_oldest(w);
	return quota_extend(w->memory, w->count, &w->paid, sizeof(*w->times)) &&
	       array_make_room(&w->times, w->count, &w->capacity, sizeof(*w->times));
}

void wait_times_add(struct wait_times *w, const struct thread_time *time)
{
	bool needs_row = time->kind == ROW_WAIT;
	struct wait_row *row = NULL;

	if (time->ns == 0)
		return;
	if (needs_row)
		row = get_row(w, time->stack, time->place);
	if (row)
		saturated_add(&row->known_ns, time->ns);
	/* a row's parts never exceed its known time */
	if ((needs_row && !row) || !make_room(w)) {
		if (w->forgotten_ns < time->end_ns)
			w->forgotten_ns = time->end_ns;
		return;
	}
	w->times[w->count] = *time;
	w->times[w->count++].counts = true;
	w->is_sorted = false;
}

static int compare_times(const void *a, const void *b)
{
	const struct thread_time *x = a, *y = b;
	int order = compare_numbers(x->process, y->process);

	order = order ? order : compare_numbers(x->tid, y->tid);
	return order ? order : compare_numbers(x->start_ns, y->start_ns);
}

static void sort_times(struct wait_times *w)
{
	if (w->is_sorted || w->count == 0)
		return;
	qsort(w->times, w->count, sizeof(*w->times), compare_times);
	w->is_sorted = true;
	w->steps_left = most_of(w);
}

/* Returns the thread's last time that began by then, or its next one. */
static uint32_t find_first(const struct wait_times *w, const struct waits_wait *wait,
			   uint64_t from_ns)
{
	const struct thread_time key = {
		.start_ns = from_ns, .process = wait->process, .tid = wait->tid};
	uint32_t low =
		(uint32_t)sorted_find(&key, w->times, w->count, sizeof(*w->times), compare_times);

	if (low > 0 && w->times[low - 1].process == wait->process &&
	    w->times[low - 1].tid == wait->tid)
		low--;
	return low;
}

/* ---- splitting ---- */

/* Returns the part of the time within a range. */
static uint64_t common(const struct thread_time *t, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t start_ns = t->start_ns > from_ns ? t->start_ns : from_ns;
	uint64_t end_ns = t->end_ns < to_ns ? t->end_ns : to_ns;

	if (t->start_ns == t->end_ns)
		return t->start_ns >= from_ns && t->start_ns < to_ns ? t->ns : 0;
	return end_ns > start_ns ? end_ns - start_ns : 0;
}

static void move(struct wait_times *w, struct thread_time *t, const struct gpu_work_origin *origin,
		 uint64_t ns)
{
	bool counts = t->counts && (origin || ns == t->ns);
	struct stack_id to;
	uint32_t row;

	/* the thread computes, or spins for unknown work */
	if (t->kind == ROW_CPU && !origin)
		return;
	to = gpu_stack_wait(w->gpu_stacks, t->stack, t->kind == ROW_CPU, origin);
	if (!profile_move(w->profile, t->kind, t->place, t->stack, to,
			  &(struct profile_row){.count = counts, .ns = ns}))
		return;
	t->counts = t->counts && !counts;
	t->ns -= ns;
	if (t->kind == ROW_CPU)
		return;
	row = find_row(w, t->stack, t->place);
	if (row != RECORD_NONE)
		add_part(w, row, to, ns);
}

/* Counts a cut wait once: its pieces come one after the other. */
static void note_cut(struct wait_times *w, const struct waits_wait *wait)
{
	if (w->last_cut.process == wait->process && w->last_cut.tid == wait->tid &&
	    w->last_cut.start_ns == wait->start_ns)
		return;
	w->last_cut = *wait;
	w->cut++;
}

void wait_times_split(struct wait_times *w, const struct waits_wait *wait,
		      const struct gpu_work_origin *origin, uint64_t from_ns, uint64_t ns)
{
	uint64_t to_ns = from_ns + ns;
	uint32_t first;

	sort_times(w);
	if (from_ns < w->forgotten_ns)
		note_cut(w, wait);
	first = find_first(w, wait, from_ns);
	for (uint32_t i = first; i < w->count; i++) {
		struct thread_time *t = &w->times[i];
		uint64_t part_ns;

		if (t->process != wait->process || t->tid != wait->tid || t->start_ns >= to_ns)
			break;
		if (i > first && w->steps_left == 0) {
			note_cut(w, wait);
			break;
		}
		w->steps_left -= i > first;
		part_ns = common(t, from_ns, to_ns);
		if (part_ns > t->ns) /* waits overlap */
			part_ns = t->ns;
		if (part_ns > 0)
			move(w, t, origin, part_ns);
	}
}

void wait_times_finish(struct wait_times *w)
{
	for (uint32_t i = 0; i < w->parts.count; i++) {
		const struct wait_part *part = &w->parts.list[i];
		const struct wait_row *row = &w->rows.list[part->row];
		uint64_t ns =
			(uint64_t)((unsigned __int128)row->spread_ns * part->ns / row->known_ns);

		if (ns)
			profile_move(w->profile, ROW_WAIT, row->place, row->stack, part->stack,
				     &(struct profile_row){.ns = ns});
	}
}
