// SPDX-License-Identifier: MIT
#include "profiler/model/stack_table.h"

#include <stdlib.h>
#include <string.h>
#include "profiler/model/pseudo_frames.h"
#include "profiler/model/id_remap.h"
#include "symbolize/util/record_set.h"

#define NONE UINT32_MAX
_Static_assert(NONE == RECORD_NONE, "one value for none");

struct stack {
	struct stack_id outer; /* NONE for STACK_EMPTY */
	uint32_t frame;        /* number; NONE for STACK_EMPTY */
};

struct stack_table {
	RECORD_SET(struct frame) frames;
	RECORD_SET(struct stack) stacks;
	struct quota *memory; /* NULL: no limit */
	uint64_t refused;
};

_Static_assert(sizeof(struct frame) == 24, "compared as bytes: no padding");

/* Returns the stack's id, or NONE if the stack cannot be kept. */
static struct stack_id add_stack(struct stack_table *t, struct stack stack)
{
	uint32_t hash = hash_pair(stack.outer.number, stack.frame);
	uint32_t at = record_find_hashed(&t->stacks, hash, &stack);

	if (at == NONE && t->stacks.count < STACK_TABLE_MAX &&
	    quota_take(t->memory, STACK_TABLE_STACK_BYTES))
		at = record_add_hashed(&t->stacks, hash, &stack);
	return (struct stack_id){at};
}

struct stack_table *stack_table_new(void)
{
	struct stack_table *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	if (same_id(add_stack(t, (struct stack){.outer = {NONE}, .frame = NONE}), STACK_EMPTY) &&
	    same_id(stack_table_push_text(t, STACK_EMPTY, FRAME_MARK, PSEUDO_TOO_MANY_STACKS),
		    STACK_NOT_KEPT) &&
	    t->refused == 0)
		return t;
	stack_table_free(t);
	return NULL;
}

void stack_table_free(struct stack_table *t)
{
	if (!t)
		return;
	record_set_release(&t->frames.set);
	record_set_release(&t->stacks.set);
	free(t);
}

void stack_table_limit(struct stack_table *t, struct quota *memory)
{
	t->memory = memory;
}

struct stack_id stack_table_push(struct stack_table *t, struct stack_id outer,
				 const struct frame *frame)
{
	struct stack stack = {.outer = outer, .frame = record_find(&t->frames, frame)};
	struct stack_id at = {NONE};

	if (same_id(outer, STACK_NOT_KEPT))
		return STACK_NOT_KEPT; /* already counted */
	/* frames are only kept with a stack */
	if (stack.frame == NONE && t->stacks.count < STACK_TABLE_MAX &&
	    quota_has(t->memory, STACK_TABLE_FRAME_BYTES + STACK_TABLE_STACK_BYTES) &&
	    quota_take(t->memory, STACK_TABLE_FRAME_BYTES))
		stack.frame = record_add(&t->frames, frame, frame);
	if (stack.frame != NONE)
		at = add_stack(t, stack);
	if (at.number != NONE)
		return at;
	t->refused++;
	return STACK_NOT_KEPT;
}

struct stack_id stack_table_push_text(struct stack_table *t, struct stack_id outer,
				      enum frame_kind kind, const char *text)
{
	struct frame frame;

	memset(&frame, 0, sizeof(frame));
	frame.kind = kind;
	frame.text = text;
	return stack_table_push(t, outer, &frame);
}

struct stack_id stack_table_add(struct stack_table *t, struct stack_id outer,
				const struct frame *frames, uint32_t count)
{
	while (count-- > 0)
		outer = stack_table_push(t, outer, &frames[count]);
	return outer;
}

struct stack_id stack_table_append(struct stack_table *t, struct stack_id outer,
				   struct stack_id inner)
{
	struct stack_id path[1024], at = inner;
	uint32_t count = 0;
	struct frame frame;

	while (!same_id(at, STACK_EMPTY)) {
		/* a longer stack is copied in pieces, outer part first */
		if (count == sizeof(path) / sizeof(path[0])) {
			outer = stack_table_append(t, outer, at);
			break;
		}
		path[count++] = at;
		at = t->stacks.list[at.number].outer;
	}
	while (count-- > 0) {

		/* a copy, for the array may move */
		frame = t->frames.list[t->stacks.list[path[count].number].frame];
		outer = stack_table_push(t, outer, &frame);
	}
	return outer;
}

const struct frame *stack_table_frame(const struct stack_table *t, struct stack_id stack)
{
	uint32_t frame = t->stacks.list[stack.number].frame;

	return frame == NONE ? NULL : &t->frames.list[frame];
}

uint32_t stack_table_frame_number(const struct stack_table *t, struct stack_id stack)
{
	return t->stacks.list[stack.number].frame;
}

struct stack_id stack_table_outer(const struct stack_table *t, struct stack_id stack)
{
	return t->stacks.list[stack.number].outer;
}

bool stack_table_is_deeper(const struct stack_table *t, struct stack_id stack, uint32_t most)
{
	while (!same_id(stack, STACK_EMPTY) && most > 0) {
		stack = t->stacks.list[stack.number].outer;
		most--;
	}
	return !same_id(stack, STACK_EMPTY);
}

uint32_t stack_table_count(const struct stack_table *t)
{
	return t->stacks.count;
}

uint32_t stack_table_frame_count(const struct stack_table *t)
{
	return t->frames.count;
}

uint64_t stack_table_refused(const struct stack_table *t)
{
	return t->refused;
}

/* ---- forgetting ---- */

void stack_table_use(const struct stack_table *t, struct stack_id stack, uint32_t *numbers)
{
	while (stack.number != NONE && numbers[stack.number] == ID_UNUSED) {
		numbers[stack.number] = 0;
		stack = t->stacks.list[stack.number].outer;
	}
}

/* Drops frames of unused stacks. Stacks have their new numbers. */
static void forget_frames(struct stack_table *t, uint32_t *numbers)
{
	uint32_t left = 0;

	for (uint32_t i = 0; i < t->stacks.count; i++)
		if (t->stacks.list[i].frame != NONE)
			numbers[t->stacks.list[i].frame] = 0;
	for (uint32_t i = 0; i < t->frames.count; i++) {
		if (numbers[i] == ID_UNUSED)
			continue;
		numbers[i] = left;
		t->frames.list[left++] = t->frames.list[i];
	}
	quota_return(t->memory, (size_t)(t->frames.count - left) * STACK_TABLE_FRAME_BYTES);
	t->frames.count = left;
	record_reindex(&t->frames, struct frame);
	for (uint32_t i = 0; i < t->stacks.count; i++)
		if (t->stacks.list[i].frame != NONE)
			t->stacks.list[i].frame = numbers[t->stacks.list[i].frame];
}

static void forget_stacks(struct stack_table *t, uint32_t *numbers)
{
	uint32_t left = 0;

	for (uint32_t i = 0; i < t->stacks.count; i++) {
		struct stack stack = t->stacks.list[i];

		if (numbers[i] == ID_UNUSED) {
			numbers[i] = STACK_NOT_KEPT.number;
			continue;
		}
		if (stack.outer.number != NONE)
			stack.outer.number = numbers[stack.outer.number];
		numbers[i] = left;
		t->stacks.list[left++] = stack;
	}
	quota_return(t->memory, (size_t)(t->stacks.count - left) * STACK_TABLE_STACK_BYTES);
	t->stacks.count = left;
}

bool stack_table_forget(struct stack_table *t, uint32_t *numbers)
{
	uint32_t *frames = malloc(t->frames.count * sizeof(*frames));

	if (!frames)
		return false;
	memset(frames, 0xff, t->frames.count * sizeof(*frames));
	stack_table_use(t, STACK_EMPTY, numbers);
	stack_table_use(t, STACK_NOT_KEPT, numbers);
	forget_stacks(t, numbers);
	forget_frames(t, frames);
	hash_index_clear(&t->stacks.set.index);
	for (uint32_t i = 0; i < t->stacks.count; i++) /* there is room */
		hash_index_add(&t->stacks.set.index,
			       hash_pair(t->stacks.list[i].outer.number, t->stacks.list[i].frame),
			       i);
	free(frames);
	return true;
}
