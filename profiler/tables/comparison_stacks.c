// SPDX-License-Identifier: MIT
#include "profiler/tables/comparison_private.h"

#include <stdlib.h>
#include <string.h>
#include "symbolize/util/array.h"

/* ---- frames and stacks ---- */

static bool frame_equal(const void *records, uint32_t position, const void *key)
{
	const struct frame_info *a = (const struct frame_info *)records + position, *b = key;

	return a->class == b->class && strcmp(a->name, b->name) == 0;
}

#define FRAME_BYTES (2 * sizeof(struct frame_info) + HASH_INDEX_ENTRY_BYTES)

/* Returns the frame's number in the common result; 0 with the error set. */
static uint32_t add_frame(struct made_comparison *made, const struct frame_info *frame)
{
	uint32_t hash = hash_bytes(frame->name, strlen(frame->name));
	uint32_t at = record_find_equal(&made->frames, hash, frame_equal, frame);

	if (at != RECORD_NONE)
		return at;
	if (!comparison_take(made, FRAME_BYTES))
		return 0;
	at = record_add_hashed(&made->frames, hash, frame);
	if (at != RECORD_NONE)
		return at;
	comparison_fail(made, ENOMEM);
	return 0;
}

struct stack_key {
	uint32_t outer;
	const char *name;
};

/* Compares names alone, as call_tree.h does: stacks have the numbers of its nodes. */
static bool stack_equal(const void *records, uint32_t position, const void *key)
{
	const struct made_comparison *made = records;
	const struct stack_info *stack = &made->stacks.list[position];
	const struct stack_key *k = key;

	return stack->outer == k->outer &&
	       strcmp(made->frames.list[stack->frame].name, k->name) == 0;
}

/* Returns the bytes per stack. Arrays double, so they count twice. */
static size_t stack_bytes(const struct made_comparison *made)
{
	size_t amounts = made->run_count * sizeof(double) + SIDES * sizeof(struct side_sum);

	return 2 * (amounts + sizeof(struct stack_info)) + 2 * sizeof(struct change) +
	       HASH_INDEX_ENTRY_BYTES;
}

/* Returns the bytes per stack and kind of its rows. */
static size_t row_bytes(const struct made_comparison *made)
{
	size_t amounts = made->run_count * sizeof(double) + SIDES * sizeof(struct side_sum);

	return 2 * (amounts + sizeof(struct compared_rows)) + sizeof(struct comparison_row) +
	       sizeof(struct row) + HASH_INDEX_ENTRY_BYTES;
}

/* Adds a stack and returns its number; RESULT_ROOT with the error set. */
static uint32_t make_stack(struct made_comparison *made, uint32_t hash, uint32_t outer,
			   uint32_t frame)
{
	uint32_t at;

	if (!comparison_take(made, stack_bytes(made)))
		return RESULT_ROOT;
	at = record_add_hashed(&made->stacks, hash, &((struct stack_info){outer, frame}));
	if (at != RECORD_NONE)
		return at;
	comparison_fail(made, ENOMEM);
	return RESULT_ROOT;
}

void comparison_begin_stacks(struct made_comparison *made)
{
	make_stack(made, 0, UINT32_MAX, UINT32_MAX);
}

static uint32_t add_stack(struct made_comparison *made, uint32_t outer,
			  const struct frame_info *frame)
{
	struct stack_key key = {outer, frame->name};
	uint32_t hash = hash_pair(outer, hash_bytes(frame->name, strlen(frame->name)));
	uint32_t at = hash_index_find(&made->stacks.set.index, hash, stack_equal, made, &key);
	uint32_t number;

	if (at != HASH_INDEX_NONE)
		return at;
	number = add_frame(made, frame);
	return made->error ? RESULT_ROOT : make_stack(made, hash, outer, number);
}

void comparison_add_stacks(struct made_comparison *made, const struct compared_run *run,
			   uint32_t *numbers)
{
	const struct result *r = run->result;

	numbers[RESULT_ROOT] = RESULT_ROOT;
	for (uint32_t i = RESULT_ROOT + 1; i < r->stack_count && !made->error; i++) {
		const struct stack_info *stack = &r->stacks[i];

		numbers[i] = add_stack(made, numbers[stack->outer],
				       comparison_common_frame(made, &r->frames[stack->frame]));
	}
}

/* ---- amounts ---- */

void comparison_add_to_stack(struct made_comparison *made, const struct compared_run *run,
			     uint32_t at, const struct row *row, const struct amount *amount)
{
	const struct compared_rows key = {at, row->kind};
	uint32_t number = record_find(&made->kinds, &key);

	if (number == RECORD_NONE) {
		if (!comparison_take(made, row_bytes(made)))
			return;
		number = record_add(&made->kinds, &key, &key);
	}
	if (number == RECORD_NONE)
		comparison_fail(made, ENOMEM);
	else
		comparison_add(made, &made->row_amounts, number, run, amount);
}

/* Returns the changes by stack; NULL with the error set. */
static struct change *change_stacks(struct made_comparison *made)
{
	uint32_t count = made->stacks.count;
	struct change *changes = malloc(count * sizeof(*changes));
	struct change **list = malloc(count * sizeof(*list));
	struct change_base base = comparison_base(made, TOTAL_CPU);

	if (made->comparison.is_normalized && made->comparison.is_weights)
		for (int side = 0; side < SIDES; side++) /* stacks have weights of all kinds */
			base.all[side] += amounts_sides(&made->totals, TOTAL_GPU)[side].count;
	if (!changes || !list)
		comparison_fail(made, ENOMEM);
	for (uint32_t i = 0; changes && list && i < count; i++) {
		changes[i] = change_of(&base, amounts_values(&made->stack_amounts, i),
				       amounts_sides(&made->stack_amounts, i));
		list[i] = &changes[i];
	}
	if (changes && list)
		comparison_control(made, list, count);
	free(list);
	return changes;
}

static int by_stack(const void *a, const void *b)
{
	const struct comparison_row *x = a, *y = b;

	if (x->stack != y->stack)
		return x->stack < y->stack ? -1 : 1;
	return x->kind < y->kind ? -1 : x->kind > y->kind;
}

/* Adds up the rows by stack, and sorts them. */
static void sort_rows(struct made_comparison *made)
{
	struct amounts *amounts = &made->row_amounts;
	uint32_t count = made->kinds.count;

	made->comparison.rows = made->all_rows = malloc((count + 1u) * sizeof(*made->all_rows));
	made->rows = malloc((count + 1u) * sizeof(*made->rows));
	if (!made->all_rows || !made->rows) {
		comparison_fail(made, ENOMEM);
		return;
	}
	for (uint32_t i = 0; i < count; i++) {
		const struct compared_rows *rows = &made->kinds.list[i];

		amounts_move(&made->stack_amounts, rows->stack, amounts, i);
		made->all_rows[i] =
			(struct comparison_row){rows->stack, rows->kind, amounts_values(amounts, i),
						amounts_sides(amounts, i)};
	}
	qsort(made->all_rows, count, sizeof(*made->all_rows), by_stack);
}

/* Makes the rows of the result: means of the shown runs, in whole ns. */
static void make_rows(struct made_comparison *made)
{
	const struct comparison *c = &made->comparison;
	uint32_t first = c->shown == SIDE_AFTER ? c->runs[SIDE_BEFORE] : 0,
		 runs = c->runs[c->shown], count = made->kinds.count;

	made->comparison.result.row_count = count;
	for (uint32_t i = 0; i < count; i++) {
		const struct comparison_row *row = &c->rows[i];
		double ns = 0;

		for (uint32_t run = 0; run < runs; run++)
			ns += row->values[first + run] / runs;
		made->rows[i] = (struct row){.kind = row->kind,
					     .stack = row->stack,
					     .count = row->sides[c->shown].count / runs,
					     .ns = (uint64_t)(ns + 0.5)};
	}
}

void comparison_finish_stacks(struct made_comparison *made)
{
	uint32_t count = made->stacks.count;
	struct amounts *amounts = &made->stack_amounts;

	if (!amounts_reach(amounts, count - 1))
		comparison_fail(made, ENOMEM);
	if (!made->error)
		sort_rows(made);
	if (made->error)
		return;
	made->comparison.own = made->own = change_stacks(made);
	/* inner stacks have larger numbers */
	for (uint32_t i = count - 1; i > RESULT_ROOT; i--)
		amounts_move(amounts, made->stacks.list[i].outer, amounts, i);
	made->comparison.changes = made->changes = change_stacks(made);
	make_rows(made);
}
