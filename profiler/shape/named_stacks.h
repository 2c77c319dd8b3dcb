/* SPDX-License-Identifier: MIT */
/*
 * The frames and stacks of a result, each once: outer stacks have smaller numbers. The first stack
 * is the root, which named_stacks_begin adds.
 *
 * An owner with a table of frames of its own adds none. Where a budget does not suffice for a
 * stack, its time goes to the one stack for what is not kept. Zero-initialised is empty. Free with
 * named_stacks_release; a result refers to the lists.
 */
#ifndef PROFILER_SHAPE_NAMED_STACKS_H
#define PROFILER_SHAPE_NAMED_STACKS_H

#include <stdbool.h>
#include <stdint.h>
#include "profiler/base/quota.h"
#include "profiler/model/result.h"
#include "symbolize/util/record_set.h"

/* Of a budget: a stack with its index, and then with its node in a writer's tree, its weights in
 * units, and what is needed to round them. An inlined frame is one beside those collected. */
#define NAMED_STACK_BYTES 224

struct named_stacks {
	RECORD_SET(struct frame_info) frames;
	RECORD_SET(struct stack_info); /* the stacks */
	uint32_t rest;                 /* the stack of those not kept; RESULT_ROOT: none yet */
	bool failed;                   /* out of memory: what is returned is 0, or the root */
};

/*
 * Returns the number of the frame with this class, line, name, file and module, by their pointers;
 * RECORD_NONE: there is none, and it can be added. What else a frame has is not compared.
 */
uint32_t named_stacks_find_frame(const struct named_stacks *stacks, const struct frame_info *frame);
uint32_t named_stacks_add_frame(struct named_stacks *stacks, const struct frame_info *frame);

/* Do the same for frames of different names, which are found by the name alone. */
uint32_t named_stacks_find_name(const struct named_stacks *stacks, const char *name);
uint32_t named_stacks_add_name(struct named_stacks *stacks, const struct frame_info *frame);

/* Adds the root. False: out of memory. */
bool named_stacks_begin(struct named_stacks *stacks);

/* Returns the number of a stack with one more frame inside, and adds it if it is new. */
uint32_t named_stacks_add(struct named_stacks *stacks, uint32_t outer, uint32_t frame);

/*
 * Does the same within a budget: false, and counted there, if it does not suffice. Then the time
 * goes to named_stacks_rest. Nothing is added inside that one.
 */
bool named_stacks_push(struct named_stacks *stacks, uint32_t outer, uint32_t frame,
		       struct quota *memory, uint32_t *number);

/* Returns the stack of those not kept, made if need be. */
uint32_t named_stacks_rest(struct named_stacks *stacks);

/* Frees the indexes alone: nothing more will be added. */
void named_stacks_finish(struct named_stacks *stacks);
void named_stacks_release(struct named_stacks *stacks);

#endif
