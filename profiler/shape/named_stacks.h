/* SPDX-License-Identifier: MIT */
/*
 * A table of named stacks, each once, in which outer ones have smaller numbers: those of a result.
 * The first one is the root, which the owner adds.
 *
 * Where a budget does not suffice for a stack, its time goes to the one stack for what is not kept.
 * Zero-initialised is empty. Free with named_stacks_release; a result takes `list` over.
 */
#ifndef PROFILER_SHAPE_NAMED_STACKS_H
#define PROFILER_SHAPE_NAMED_STACKS_H

#include <stdbool.h>
#include <stdint.h>
#include "profiler/base/allowance.h"
#include "profiler/model/result.h"
#include "symbolize/util/hash_index.h"

/* Of a budget: a stack with its index, and then with its node in a writer's tree, its weights in
 * units, and what is needed to round them. An inlined frame is one beside those collected. */
#define NAMED_STACK_BYTES 224

struct named_stacks {
	struct stack_info *list;
	uint32_t count, capacity;
	struct hash_index index;
	uint32_t rest; /* the stack of those not kept; RESULT_ROOT: none yet */
	bool failed;   /* out of memory: what is returned is the root */
};

/* The number of a stack with one more frame inside; it is added if it is new. */
uint32_t named_stacks_add(struct named_stacks *stacks, uint32_t outer, uint32_t frame);

/*
 * The same within a budget: false, and counted there, if it does not suffice. Then the caller makes
 * the stack of those not kept, with named_stacks_set_rest. Nothing is added inside that one.
 */
bool named_stacks_push(struct named_stacks *stacks, uint32_t outer, uint32_t frame,
		       struct allowance *memory, uint32_t *number);

/* The stack of those not kept has this frame alone: its number. */
uint32_t named_stacks_set_rest(struct named_stacks *stacks, uint32_t frame);

/* Frees the index alone: nothing more will be added. */
void named_stacks_finish(struct named_stacks *stacks);
void named_stacks_release(struct named_stacks *stacks);

#endif
