// SPDX-License-Identifier: MIT
#include "profiler/model/live_sums.h"

#include <stdlib.h>
#include <string.h>
#include "profiler/model/pseudo_frames.h"
#include "profiler/model/profile_sink.h"
#include "symbolize/util/array.h"
#include "symbolize/util/monotonic.h"
#include "symbolize/util/sorted.h"

#define STEP_ROWS 256u /* between readings of the clock */

void live_sums_release(struct live_sums *s)
{
	free(s->frames);
	free(s->listed);
	free(s->site_of);
	record_set_release(&s->sites.set);
	memset(s, 0, sizeof(*s));
}

void live_sums_begin(struct live_sums *s)
{
	for (uint32_t i = 0; i < s->listed_count; i++)
		s->frames[s->listed[i]].sum = (struct live_sum){0, 0};
	for (uint32_t i = 0; i < s->sites.count; i++)
		s->sites.list[i].sum = (struct live_sum){0, 0};
	memset(s->whole, 0, sizeof(s->whole));
	s->listed_count = 0;
	s->next_row = 0;
	s->next_item = 0;
	s->spent_ns = 0;
	s->is_whole = true;
}

static bool make_room(struct live_sums *s, const struct stack_table *stacks)
{
	return array_extend(&s->frames, &s->frame_count, stack_table_frame_count(stacks),
			    &s->frame_capacity, sizeof(*s->frames)) &&
	       array_extend(&s->site_of, &s->stack_count, stack_table_count(stacks),
			    &s->stack_capacity, sizeof(*s->site_of));
}

/* ---- sites ---- */

/*
 * Finds the launch site, as hot_spots.c does with names. The launch's stack is the outermost part.
 */
static void find_site(const struct stack_table *table, struct stack_id stack,
		      struct stack_id found[LIVE_SITE_FRAMES])
{
	const struct frame *frame;
	bool has_python = false, is_launch = false;
	uint32_t count = 0;

	memset(found, 0, LIVE_SITE_FRAMES * sizeof(*found));
	for (; (frame = stack_table_frame(table, stack)); stack = stack_table_outer(table, stack)) {
		if (frame->kind == FRAME_API || frame->kind == FRAME_CALL ||
		    frame_is_pseudo(frame)) {
			memset(found, 0, LIVE_SITE_FRAMES * sizeof(*found));
			has_python = false;
			is_launch = true;
			count = 0;
		} else if (frame->kind == FRAME_PYTHON && !has_python) {
			memset(found, 0, LIVE_SITE_FRAMES * sizeof(*found));
			found[0] = stack;
			has_python = true;
		} else if (is_launch && !has_python && count < LIVE_SITE_FRAMES &&
			   (frame->kind == FRAME_CODE || frame->kind == FRAME_RETURN)) {
			found[count++] = stack;
		}
	}
}

/*
 * Replaces each stack by one for its innermost frame, so that stacks with equal inner frames are
 * one site.
 */
static void unify(struct live_sums *s, const struct stack_table *table,
		  struct stack_id found[LIVE_SITE_FRAMES])
{
	for (uint32_t i = 0; i < LIVE_SITE_FRAMES && !same_id(found[i], STACK_EMPTY); i++) {
		struct stack_id *stack =
			&s->frames[stack_table_frame_number(table, found[i])].stack;

		if (same_id(*stack, STACK_EMPTY))
			*stack = found[i];
		found[i] = *stack;
	}
}

/* Returns the number of the site, or RECORD_NONE if out of memory. */
static uint32_t site_of(struct live_sums *s, const struct stack_table *table, struct stack_id stack)
{
	struct live_site site = {.sum = {0, 0}};
	uint32_t at;

	if (s->site_of[stack.number])
		return s->site_of[stack.number] - 1;
	find_site(table, stack, site.stacks);
	unify(s, table, site.stacks);
	at = record_get(&s->sites, &site.stacks, &site);
	if (at != RECORD_NONE)
		s->site_of[stack.number] = at + 1;
	return at;
}

/* ---- rows ---- */

static void add(struct live_sum *to, const struct profile_row *row)
{
	to->ns += row->ns;
	to->count += row->count;
}

static void add_to_frame(struct live_sums *s, const struct stack_table *table,
			 const struct profile_row *row)
{
	uint32_t number = stack_table_frame_number(table, row->stack);
	struct live_frame_sum *frame = &s->frames[number];

	if (frame->sum.count == 0 && frame->sum.ns == 0) {
		if (!array_make_room(&s->listed, s->listed_count, &s->listed_capacity,
				     sizeof(*s->listed))) {
			s->is_whole = false;
			return;
		}
		s->listed[s->listed_count++] = number;
	}
	if (same_id(frame->stack, STACK_EMPTY))
		frame->stack = row->stack;
	add(&frame->sum, row);
}

/* Returns the stack outside of a spinning wait, like result_computing_stack(). */
static struct stack_id computing_stack(const struct stack_table *table, struct stack_id stack)
{
	const struct frame *frame;

	for (struct stack_id at = stack; (frame = stack_table_frame(table, at));
	     at = stack_table_outer(table, at))
		if (frame->kind == FRAME_SPIN)
			return stack_table_outer(table, at);
	return stack;
}

static void add_row(struct live_sums *s, const struct stack_table *table,
		    const struct profile_row *row)
{
	struct profile_row computed = *row;
	uint32_t site;

	if ((row->count == 0 && row->ns == 0) || (row->kind != ROW_CPU && row->kind != ROW_GPU))
		return;
	if (row->kind == ROW_CPU)
		add(&s->whole[LIVE_FUNCTIONS], row);
	else
		add(&s->whole[LIVE_KERNELS], row);
	/* these have no frames, and "[too many stacks]" is of both kinds */
	if (same_id(row->stack, STACK_EMPTY) || same_id(row->stack, STACK_NOT_KEPT)) {
		if (row->kind == ROW_GPU)
			add(&s->whole[LIVE_SITES], row);
		return;
	}
	if (row->kind == ROW_CPU) {
		computed.stack = computing_stack(table, row->stack);
		if (!same_id(computed.stack, STACK_EMPTY))
			add_to_frame(s, table, &computed);
		return;
	}
	add_to_frame(s, table, row);
	add(&s->whole[LIVE_SITES], row);
	site = site_of(s, table, row->stack);
	if (site == RECORD_NONE)
		s->is_whole = false;
	else
		add(&s->sites.list[site].sum, row);
}

/* Adds some rows. Returns false if there are no more. */
static bool add_rows(struct live_sums *s, const struct collected *in)
{
	uint32_t count, end;
	const struct profile_row *rows = profile_rows(in->profile, &count);

	end = count - s->next_row > STEP_ROWS ? s->next_row + STEP_ROWS : count;
	for (; s->next_row < end; s->next_row++)
		add_row(s, in->stacks, &rows[s->next_row]);
	return s->next_row < count;
}

static void add_item(struct live_sums *s, const struct collected *in,
		     const struct profile_item *item)
{
	const struct timeline_record *r = &item->record;
	bool is_gpu_work = r->kind == TIMELINE_GPU_OPERATION;

	if (item->flags & ITEM_ROW && r->start_ns >= in->last_from_ns &&
	    (is_gpu_work || r->kind == TIMELINE_CPU_SAMPLE))
		add_row(s, in->stacks,
			&(struct profile_row){.kind = is_gpu_work ? ROW_GPU : ROW_CPU,
					      .stack = r->stack,
					      .count = 1,
					      .ns = r->duration_ns});
}

/* Adds some items that are not in rows yet. Returns false if there are no more. */
static bool add_items(struct live_sums *s, const struct collected *in)
{
	uint64_t forgotten = flight_recorder_forgotten(in->kept), position;
	const struct profile_item *item = NULL;

	position = s->next_item > forgotten ? s->next_item - forgotten : 0;
	for (uint32_t i = 0; i < STEP_ROWS; i++) {
		item = flight_recorder_next(in->kept, &position);
		if (!item)
			break;
		add_item(s, in, item);
	}
	s->next_item = forgotten + position;
	return item;
}

bool live_sums_are_of(const struct live_sums *s, const struct collected *in)
{
	return s->renumbered == in->renumbered;
}

static void restart(struct live_sums *s, uint64_t renumbered)
{
	uint64_t spent_ns = s->spent_ns;

	live_sums_release(s);
	live_sums_begin(s);
	s->renumbered = renumbered;
	s->spent_ns = spent_ns;
}

bool live_sums_step(struct live_sums *s, const struct collected *in, uint64_t timeout_ns)
{
	uint64_t begun = monotonic_ns(), spent;
	bool has_more;

	if (!live_sums_are_of(s, in))
		restart(s, in->renumbered);
	if (!make_room(s, in->stacks)) {
		s->is_whole = false;
		return true;
	}
	do {
		has_more = in->kept ? add_items(s, in) : add_rows(s, in);
		spent = monotonic_ns() - begun;
	} while (has_more && spent < timeout_ns);
	s->spent_ns += spent;
	return !has_more;
}

/* ---- the largest sums ---- */

/* A heap with the least of the kept ones at the top. */
static void sift_down(struct live_pick *heap, uint32_t count, uint32_t at)
{
	for (;;) {
		uint32_t least = at, child = 2 * at + 1;
		struct live_pick swapped;

		for (uint32_t i = child; i < child + 2 && i < count; i++)
			if (heap[i].sum.ns < heap[least].sum.ns)
				least = i;
		if (least == at)
			return;
		swapped = heap[at];
		heap[at] = heap[least];
		heap[least] = swapped;
		at = least;
	}
}

static void offer(struct live_pick *heap, uint32_t *count, uint32_t max, const struct live_sum *sum,
		  const struct stack_id *stacks, uint32_t stack_count)
{
	struct live_pick *into;

	if (sum->count == 0 && sum->ns == 0)
		return;
	if (*count < max) {
		into = &heap[(*count)++];
	} else if (heap[0].sum.ns < sum->ns) {
		into = &heap[0];
	} else {
		return;
	}
	*into = (struct live_pick){.sum = *sum};
	memcpy(into->stacks, stacks, stack_count * sizeof(*stacks));
	if (*count < max)
		return;
	if (into == heap)
		sift_down(heap, max, 0);
	else /* full just now: it becomes a heap */
		for (uint32_t i = max / 2; i-- > 0;)
			sift_down(heap, max, i);
}

static int by_time(const void *a, const void *b)
{
	const struct live_pick *x = a, *y = b;
	int order = compare_numbers(y->sum.ns, x->sum.ns);

	return order ? order : compare_numbers(x->stacks[0].number, y->stacks[0].number);
}

static bool is_gpu(const struct frame *frame)
{
	return frame->kind == FRAME_GPU_KERNEL || frame->kind == FRAME_GPU_WORK;
}

uint32_t live_sums_pick(struct live_sums *s, const struct collected *in, enum live_table table,
			struct live_pick *picks, uint32_t max)
{
	uint64_t begun = monotonic_ns();
	uint32_t count = 0;

	if (max == 0)
		return 0;
	for (uint32_t i = 0; table == LIVE_SITES && i < s->sites.count; i++)
		offer(picks, &count, max, &s->sites.list[i].sum, s->sites.list[i].stacks,
		      LIVE_SITE_FRAMES);
	for (uint32_t i = 0; table != LIVE_SITES && i < s->listed_count; i++) {
		const struct live_frame_sum *frame = &s->frames[s->listed[i]];

		if (is_gpu(stack_table_frame(in->stacks, frame->stack)) == (table == LIVE_KERNELS))
			offer(picks, &count, max, &frame->sum, &frame->stack, 1);
	}
	qsort(picks, count, sizeof(*picks), by_time);
	s->spent_ns += monotonic_ns() - begun;
	return count;
}
