/* SPDX-License-Identifier: MIT */
/*
 * Keeps the frames and stacks of a result, each once.
 *
 * An outer stack has a smaller number than the stacks inside it. Stack 0 is the root, which
 * named_stacks_begin adds. An owner with its own table of frames adds no frames. Time of stacks
 * beyond a quota goes to one stack for all of them. Zero-initialised is empty. A result refers to
 * the lists: free them with named_stacks_release after the result.
 */
#ifndef PROFILER_SHAPE_NAMED_STACKS_H
#define PROFILER_SHAPE_NAMED_STACKS_H

#include <stdbool.h>
#include <stdint.h>
#include "profiler/base/quota.h"
#include "profiler/model/result.h"
#include "symbolize/util/record_set.h"

/*
 * Bytes of a quota for each stack: its index entry, and later its node in a writer's tree, its
 * rounded weights, and the memory for rounding.
 */
#define NAMED_STACK_BYTES 224

struct named_stacks {
	RECORD_SET(struct frame_info) frames;
	RECORD_SET(struct stack_info); /* the stacks */
	uint32_t rest; /* stack for all stacks beyond the quota; RESULT_ROOT: none yet */
	bool failed;   /* out of memory: functions return 0 */
};

/*
 * Returns the number of the frame with this class, mark, line, name, file and module, compared by
 * pointer; or RECORD_NONE. Other members are not compared. Add only frames that are not found.
 */
uint32_t named_stacks_find_frame(const struct named_stacks *stacks, const struct frame_info *frame);
uint32_t named_stacks_add_frame(struct named_stacks *stacks, const struct frame_info *frame);

/* Find and add frames by the pointer of their name alone. A set has frames of one way only. */
uint32_t named_stacks_find_name(const struct named_stacks *stacks, const char *name);
uint32_t named_stacks_add_name(struct named_stacks *stacks, const struct frame_info *frame);

/* Adds the root. Returns false if out of memory. */
bool named_stacks_begin(struct named_stacks *stacks);

/* Returns the number of a stack with one more frame inside, which is added if it is new. */
uint32_t named_stacks_add(struct named_stacks *stacks, uint32_t outer, uint32_t frame);

/*
 * Finds or adds a stack with one more frame inside, within a quota. Returns false, counted in the
 * quota, if it is exceeded; then use named_stacks_rest. Nothing is added inside that stack.
 */
bool named_stacks_push(struct named_stacks *stacks, uint32_t outer, uint32_t frame,
		       struct quota *memory, uint32_t *number);

/* Returns the stack for all stacks beyond the quota, which is added if need be. */
uint32_t named_stacks_rest(struct named_stacks *stacks);

/* Frees the indexes. Nothing can be added afterwards. */
void named_stacks_finish(struct named_stacks *stacks);
void named_stacks_release(struct named_stacks *stacks);

#endif
