/* SPDX-License-Identifier: MIT */
/*
 * The parts of stacks that one traced process has sent: code mappings, Python functions, NVTX
 * ranges and stacks, by the ids that it gave.
 *
 * The process chooses the ids: sparse ones cost no more than dense ones. All memory counts against
 * an quota that all processes share; data beyond it is refused, and shows as unknown.
 */
#ifndef PROFILER_CPU_TARGET_STACKS_H
#define PROFILER_CPU_TARGET_STACKS_H

#include <stdint.h>
#include "profiler/base/quota.h"
#include "profiler/model/id_remap.h"
#include "symbolize/code_ref.h"
#include "symbolize/util/id_map.h"

#define TARGET_STACKS_MAX_CODE 16384 /* mappings per process */

/* What an id takes from the quota: its table is at most half full, and grows by doubling. */
#define TARGET_STACKS_ID_BYTES 64u

/* A Python function. Texts are interned by the caller and outlive the table. */
struct target_python {
	const char *name;
	const char *file;
};

/* A stack that the process sent. */
struct sent_stack {
	struct stack_id stack;
	bool is_whole;
};

/* The stack that the work of a thread belongs below, which works for another; or this mark. */
struct owner_stack {
	uint32_t number;
};
#define OWNER_UNKNOWN ((struct owner_stack){UINT32_MAX})

/* Zero-initialise; set `quota` before adding anything. NULL: no limit. */
struct target_stacks {
	struct quota *quota;
	size_t held;               /* bytes taken from the quota */
	struct code_mapping *code; /* disjoint, by address */
	uint32_t code_count, code_capacity;
	struct target_python *pythons;
	uint32_t python_count, python_capacity;
	struct id_map python_ids; /* id -> position */
	struct id_map ranges;     /* NVTX: id -> const char * */
	struct id_map stacks;     /* id -> struct sent_stack */
	struct id_map handed;     /* id of a stack -> struct owner_stack */
};

void target_stacks_release(struct target_stacks *t);

/* Returns what a mapping takes from the quota. */
size_t target_stacks_code_bytes(const struct code_mapping *mapping);

/* All functions that add return 0, -ENOMEM, or -ENOSPC: refused. */

/*
 * Copies the mapping with its path. Removes the mappings that it overlaps: after a change of its
 * mappings, a process sends each one again before a stack with an address in it.
 */
int target_stacks_add_code(struct target_stacks *t, const struct code_mapping *mapping);

/* The mapping of the byte before `address` (a return address), or NULL. */
const struct code_mapping *target_stacks_find_code(const struct target_stacks *t, uint64_t address);

int target_stacks_set_python(struct target_stacks *t, uint32_t id,
			     const struct target_python *python);

/* NULL: id not sent. Valid until the next set. */
const struct target_python *target_stacks_get_python(const struct target_stacks *t, uint32_t id);

/* The text of an NVTX range's frame, interned by the caller. */
int target_stacks_set_nvtx(struct target_stacks *t, uint32_t id, const char *text);

/* NULL: id not sent. */
const char *target_stacks_get_nvtx(const struct target_stacks *t, uint32_t id);

int target_stacks_set(struct target_stacks *t, uint32_t id, struct sent_stack stack);

/* The stack is of a thread that works for others. */
int target_stacks_set_handed(struct target_stacks *t, uint32_t id, struct owner_stack owner);

/* False: the stack is of no such thread. */
bool target_stacks_get_handed(const struct target_stacks *t, uint32_t id,
			      struct owner_stack *owner);

/* False: id not sent. */
bool target_stacks_get(const struct target_stacks *t, uint32_t id, struct sent_stack *stack);

/* Shows the numbers of stacks that the process has sent (model/id_remap.h). */
void target_stacks_visit(struct target_stacks *t, const struct id_visitor *visitor);

#endif
