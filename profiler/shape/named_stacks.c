// SPDX-License-Identifier: MIT
#include "profiler/shape/named_stacks.h"

#include "profiler/model/pseudo_frames.h"

typedef char frame_key[offsetof(struct frame_info, short_name)];
_Static_assert(sizeof(frame_key) == 2 * sizeof(uint32_t) + 3 * sizeof(char *),
	       "compared as bytes: no padding");

/* Returns the number that was added; 0, with the error noted, for RECORD_NONE. */
static uint32_t kept(struct named_stacks *s, uint32_t added)
{
	s->failed |= added == RECORD_NONE;
	return added != RECORD_NONE ? added : RESULT_ROOT;
}

uint32_t named_stacks_find_frame(const struct named_stacks *s, const struct frame_info *frame)
{
	return record_find(&s->frames, (const frame_key *)frame);
}

uint32_t named_stacks_add_frame(struct named_stacks *s, const struct frame_info *frame)
{
	return kept(s, record_add(&s->frames, (const frame_key *)frame, frame));
}

static bool has_name(const void *records, uint32_t position, const void *name)
{
	return ((const struct frame_info *)records)[position].name == name;
}

uint32_t named_stacks_find_name(const struct named_stacks *s, const char *name)
{
	return record_find_equal(&s->frames, hash_number((uintptr_t)name), has_name, name);
}

uint32_t named_stacks_add_name(struct named_stacks *s, const struct frame_info *frame)
{
	return kept(s, record_add_hashed(&s->frames, hash_number((uintptr_t)frame->name), frame));
}

bool named_stacks_begin(struct named_stacks *s)
{
	return named_stacks_add(s, UINT32_MAX, UINT32_MAX) == RESULT_ROOT && !s->failed;
}

uint32_t named_stacks_add(struct named_stacks *s, uint32_t outer, uint32_t frame)
{
	const struct stack_info stack = {outer, frame};
	uint32_t at = record_find(s, &stack);

	return at != RECORD_NONE ? at : kept(s, record_add(s, &stack, &stack));
}

bool named_stacks_push(struct named_stacks *s, uint32_t outer, uint32_t frame, struct quota *memory,
		       uint32_t *number)
{
	const struct stack_info stack = {outer, frame};

	*number = record_find(s, &stack);
	if (*number != RECORD_NONE)
		return true;
	if (s->rest != RESULT_ROOT && outer == s->rest) {
		*number = outer;
		return true;
	}
	if (!quota_take(memory, NAMED_STACK_BYTES))
		return false;
	*number = kept(s, record_add(s, &stack, &stack));
	return true;
}

uint32_t named_stacks_rest(struct named_stacks *s)
{
	static const struct frame_info frame = {.class = CLASS_MARK,
						.name = PSEUDO_TOO_MANY_STACKS,
						.short_name = PSEUDO_TOO_MANY_STACKS};
	uint32_t number;

	if (s->rest == RESULT_ROOT) {
		number = named_stacks_find_frame(s, &frame);
		if (number == RECORD_NONE)
			number = named_stacks_add_frame(s, &frame);
		s->rest = named_stacks_add(s, RESULT_ROOT, number);
	}
	return s->rest;
}

void named_stacks_finish(struct named_stacks *s)
{
	hash_index_release(&s->frames.set.index);
	hash_index_release(&s->set.index);
}

void named_stacks_release(struct named_stacks *s)
{
	record_set_release(&s->frames.set);
	record_set_release(&s->set);
	*s = (struct named_stacks){0};
}
