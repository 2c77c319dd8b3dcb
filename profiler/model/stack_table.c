// SPDX-License-Identifier: MIT
#include "profiler/model/stack_table.h"

#include <stdlib.h>
#include <string.h>
#include "profiler/model/marks.h"
#include "profiler/model/numbers.h"
#include "symbolize/util/array.h"
#include "symbolize/util/hash_index.h"

#define NONE UINT32_MAX

struct stack {
	uint32_t outer;
	uint32_t frame; /* number; NONE for STACK_EMPTY */
};

struct stack_table {
	struct frame *frames;
	uint32_t frame_count, frame_capacity;
	struct hash_index frame_index;
	struct stack *stacks;
	uint32_t stack_count, stack_capacity;
	struct hash_index stack_index;
	struct allowance *memory; /* NULL: no limit */
	uint64_t refused;
};

_Static_assert(sizeof(struct frame) == 24, "compared as bytes: no padding");

static bool frame_equal(const void *records, uint32_t position, const void *key)
{
	return memcmp((const struct frame *)records + position, key, sizeof(struct frame)) == 0;
}

/* The frame's number, or NONE. */
static uint32_t find_frame(const struct stack_table *t, const struct frame *frame)
{
	_Static_assert(NONE == HASH_INDEX_NONE, "one value for none");
	return hash_index_find(&t->frame_index, hash_bytes(frame, sizeof(*frame)), frame_equal,
			       t->frames, frame);
}

/* The number of a new frame, or NONE when it cannot be kept. */
static uint32_t add_frame(struct stack_table *t, const struct frame *frame)
{
	if (!allowance_take(t->memory, STACK_TABLE_FRAME_BYTES) ||
	    !array_make_room(&t->frames, t->frame_count, &t->frame_capacity, sizeof(*frame)) ||
	    hash_index_add(&t->frame_index, hash_bytes(frame, sizeof(*frame)), t->frame_count) != 0)
		return NONE;
	t->frames[t->frame_count] = *frame;
	return t->frame_count++;
}

static bool stack_equal(const void *records, uint32_t position, const void *key)
{
	const struct stack *a = (const struct stack *)records + position, *b = key;

	return a->outer == b->outer && a->frame == b->frame;
}

/* The stack's id, or NONE when it cannot be kept. */
static uint32_t add_stack(struct stack_table *t, struct stack stack)
{
	uint32_t hash = hash_pair(stack.outer, stack.frame);
	uint32_t at = hash_index_find(&t->stack_index, hash, stack_equal, t->stacks, &stack);

	if (at != HASH_INDEX_NONE)
		return at;
	if (t->stack_count >= STACK_TABLE_MAX ||
	    !allowance_take(t->memory, STACK_TABLE_STACK_BYTES) ||
	    !array_make_room(&t->stacks, t->stack_count, &t->stack_capacity, sizeof(stack)) ||
	    hash_index_add(&t->stack_index, hash, t->stack_count) != 0)
		return NONE;
	t->stacks[t->stack_count] = stack;
	return t->stack_count++;
}

struct stack_table *stack_table_new(void)
{
	struct stack_table *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	if (add_stack(t, (struct stack){.outer = NONE, .frame = NONE}) == STACK_EMPTY &&
	    stack_table_push_text(t, STACK_EMPTY, FRAME_MARK, MARK_TOO_MANY_STACKS) ==
		    STACK_NOT_KEPT &&
	    t->refused == 0)
		return t;
	stack_table_free(t);
	return NULL;
}

void stack_table_free(struct stack_table *t)
{
	if (!t)
		return;
	free(t->frames);
	hash_index_release(&t->frame_index);
	free(t->stacks);
	hash_index_release(&t->stack_index);
	free(t);
}

void stack_table_limit(struct stack_table *t, struct allowance *memory)
{
	t->memory = memory;
}

uint32_t stack_table_push(struct stack_table *t, uint32_t outer, const struct frame *frame)
{
	struct stack stack = {.outer = outer, .frame = find_frame(t, frame)};
	uint32_t at = NONE;

	if (outer == STACK_NOT_KEPT)
		return STACK_NOT_KEPT; /* already counted */
	/* frames are kept only together with a stack */
	if (stack.frame == NONE && t->stack_count < STACK_TABLE_MAX &&
	    allowance_has(t->memory, STACK_TABLE_FRAME_BYTES + STACK_TABLE_STACK_BYTES))
		stack.frame = add_frame(t, frame);
	if (stack.frame != NONE)
		at = add_stack(t, stack);
	if (at != NONE)
		return at;
	t->refused++;
	return STACK_NOT_KEPT;
}

uint32_t stack_table_push_text(struct stack_table *t, uint32_t outer, enum frame_kind kind,
			       const char *text)
{
	struct frame frame;

	memset(&frame, 0, sizeof(frame));
	frame.kind = kind;
	frame.text = text;
	return stack_table_push(t, outer, &frame);
}

uint32_t stack_table_add(struct stack_table *t, uint32_t outer, const struct frame *frames,
			 uint32_t count)
{
	while (count-- > 0)
		outer = stack_table_push(t, outer, &frames[count]);
	return outer;
}

uint32_t stack_table_append(struct stack_table *t, uint32_t outer, uint32_t inner)
{
	uint32_t path[1024], count = 0, at = inner;
	struct frame frame;

	while (at != STACK_EMPTY) {
		/* a longer stack is copied in pieces, outer part first */
		if (count == sizeof(path) / sizeof(path[0])) {
			outer = stack_table_append(t, outer, at);
			break;
		}
		path[count++] = at;
		at = t->stacks[at].outer;
	}
	while (count-- > 0) {
		frame = t->frames[t->stacks[path[count]].frame]; /* the array may move */
		outer = stack_table_push(t, outer, &frame);
	}
	return outer;
}

const struct frame *stack_table_frame(const struct stack_table *t, uint32_t stack)
{
	uint32_t frame = t->stacks[stack].frame;

	return frame == NONE ? NULL : &t->frames[frame];
}

uint32_t stack_table_frame_number(const struct stack_table *t, uint32_t stack)
{
	return t->stacks[stack].frame;
}

uint32_t stack_table_outer(const struct stack_table *t, uint32_t stack)
{
	return t->stacks[stack].outer;
}

bool stack_table_is_deeper(const struct stack_table *t, uint32_t stack, uint32_t most)
{
	while (stack != STACK_EMPTY && most > 0) {
		stack = t->stacks[stack].outer;
		most--;
	}
	return stack != STACK_EMPTY;
}

uint32_t stack_table_count(const struct stack_table *t)
{
	return t->stack_count;
}

uint32_t stack_table_frame_count(const struct stack_table *t)
{
	return t->frame_count;
}

uint64_t stack_table_refused(const struct stack_table *t)
{
	return t->refused;
}

/* ---- forgetting ---- */

void stack_table_use(const struct stack_table *t, uint32_t stack, uint32_t *numbers)
{
	while (stack != NONE && numbers[stack] == NUMBER_UNUSED) {
		numbers[stack] = 0;
		stack = t->stacks[stack].outer;
	}
}

/* Of stacks that are in use; these have their new numbers. */
static void forget_frames(struct stack_table *t, uint32_t *numbers)
{
	uint32_t left = 0;

	for (uint32_t i = 0; i < t->stack_count; i++)
		if (t->stacks[i].frame != NONE)
			numbers[t->stacks[i].frame] = 0;
	hash_index_clear(&t->frame_index);
	for (uint32_t i = 0; i < t->frame_count; i++) {
		if (numbers[i] == NUMBER_UNUSED)
			continue;
		numbers[i] = left;
		t->frames[left] = t->frames[i];
		/* cannot fail: there were more */
		hash_index_add(&t->frame_index, hash_bytes(&t->frames[left], sizeof(*t->frames)),
			       left);
		left++;
	}
	allowance_return(t->memory, (size_t)(t->frame_count - left) * STACK_TABLE_FRAME_BYTES);
	t->frame_count = left;
	for (uint32_t i = 0; i < t->stack_count; i++)
		if (t->stacks[i].frame != NONE)
			t->stacks[i].frame = numbers[t->stacks[i].frame];
}

static void forget_stacks(struct stack_table *t, uint32_t *numbers)
{
	uint32_t left = 0;

	for (uint32_t i = 0; i < t->stack_count; i++) {
		struct stack stack = t->stacks[i];

		if (numbers[i] == NUMBER_UNUSED) {
			numbers[i] = STACK_NOT_KEPT;
			continue;
		}
		if (stack.outer != NONE) /* which comes before it */
			stack.outer = numbers[stack.outer];
		numbers[i] = left;
		t->stacks[left++] = stack;
	}
	allowance_return(t->memory, (size_t)(t->stack_count - left) * STACK_TABLE_STACK_BYTES);
	t->stack_count = left;
}

bool stack_table_forget(struct stack_table *t, uint32_t *numbers)
{
	uint32_t *frames = malloc(t->frame_count * sizeof(*frames));

	if (!frames)
		return false;
	memset(frames, 0xff, t->frame_count * sizeof(*frames));
	stack_table_use(t, STACK_EMPTY, numbers);
	stack_table_use(t, STACK_NOT_KEPT, numbers);
	forget_stacks(t, numbers);
	forget_frames(t, frames);
	hash_index_clear(&t->stack_index);
	for (uint32_t i = 0; i < t->stack_count; i++)
		hash_index_add(&t->stack_index, hash_pair(t->stacks[i].outer, t->stacks[i].frame),
			       i);
	free(frames);
	return true;
}
