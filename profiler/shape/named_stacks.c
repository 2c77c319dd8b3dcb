// SPDX-License-Identifier: MIT
#include "profiler/shape/named_stacks.h"

#include <stdlib.h>
#include <string.h>
#include "symbolize/util/array.h"

static bool stack_equal(const void *records, uint32_t position, const void *key)
{
	return memcmp((const struct stack_info *)records + position, key,
		      sizeof(struct stack_info)) == 0;
}

static uint32_t find(const struct named_stacks *s, const struct stack_info *stack, uint32_t hash)
{
	return hash_index_find(&s->index, hash, stack_equal, s->list, stack);
}

static uint32_t append(struct named_stacks *s, const struct stack_info *stack, uint32_t hash)
{
	if (!array_make_room(&s->list, s->count, &s->capacity, sizeof(*s->list)) ||
	    hash_index_add(&s->index, hash, s->count) != 0) {
		s->failed = true;
		return RESULT_ROOT;
	}
	s->list[s->count] = *stack;
	return s->count++;
}

uint32_t named_stacks_add(struct named_stacks *s, uint32_t outer, uint32_t frame)
{
	const struct stack_info stack = {outer, frame};
	uint32_t hash = hash_pair(outer, frame), at = find(s, &stack, hash);

	return at != HASH_INDEX_NONE ? at : append(s, &stack, hash);
}

bool named_stacks_push(struct named_stacks *s, uint32_t outer, uint32_t frame,
		       struct allowance *memory, uint32_t *number)
{
	const struct stack_info stack = {outer, frame};
	uint32_t hash = hash_pair(outer, frame);

	*number = find(s, &stack, hash);
	if (*number != HASH_INDEX_NONE)
		return true;
	if (s->rest != RESULT_ROOT && outer == s->rest) {
		*number = outer;
		return true;
	}
	if (!allowance_take(memory, NAMED_STACK_BYTES))
		return false;
	*number = append(s, &stack, hash);
	return true;
}

uint32_t named_stacks_set_rest(struct named_stacks *s, uint32_t frame)
{
	s->rest = named_stacks_add(s, RESULT_ROOT, frame);
	return s->rest;
}

void named_stacks_finish(struct named_stacks *s)
{
	hash_index_release(&s->index);
}

void named_stacks_release(struct named_stacks *s)
{
	hash_index_release(&s->index);
	free(s->list);
	*s = (struct named_stacks){0};
}
