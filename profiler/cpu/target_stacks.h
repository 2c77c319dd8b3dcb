/* SPDX-License-Identifier: MIT */
/*
 * Keeps the parts of stacks that one traced process has sent, by the ids that the process gave.
 *
 * Parts are code mappings, Python functions, NVTX ranges and stacks. Sparse ids cost no more than
 * dense ones. All memory is charged to a quota shared by all processes. Data beyond the quota is
 * refused, and shows as unknown.
 */
#ifndef PROFILER_CPU_TARGET_STACKS_H
#define PROFILER_CPU_TARGET_STACKS_H

#include <stdint.h>
#include "profiler/base/quota.h"
#include "profiler/model/id_remap.h"
#include "symbolize/code_ref.h"
#include "symbolize/util/id_map.h"

#define TARGET_STACKS_MAX_CODE 16384 /* limit of mappings per process */

/* Bytes charged for an id: its table is at most half full, and grows by doubling. */
#define TARGET_STACKS_ID_BYTES 64u

/* A Python function. The caller interns the texts, which outlive the table. */
struct target_python {
	const char *name;
	const char *file;
};

/* A stack that the process sent. */
struct sent_stack {
	struct stack_id stack;
	bool is_whole;
};

/* The stack below which an async worker's work belongs, or OWNER_UNKNOWN. */
struct owner_stack {
	uint32_t number;
};
#define OWNER_UNKNOWN ((struct owner_stack){UINT32_MAX})

/* Zero-initialise, then set `quota` (NULL: no limit) before adding anything. */
struct target_stacks {
	struct quota *quota;
	size_t held;               /* bytes charged to the quota */
	struct code_mapping *code; /* disjoint, sorted by address */
	uint32_t code_count, code_capacity;
	struct target_python *pythons;
	uint32_t python_count, python_capacity;
	struct id_map python_ids; /* id -> position */
	struct id_map ranges;     /* NVTX: id -> const char * */
	struct id_map stacks;     /* id -> struct sent_stack */
	struct id_map handed;     /* id of a stack -> struct owner_stack */
};

void target_stacks_release(struct target_stacks *t);

/* Returns the bytes charged for a mapping. */
size_t target_stacks_code_bytes(const struct code_mapping *mapping);

/* Functions that add return 0, -ENOMEM, or -ENOSPC if refused. */

/*
 * Adds a copy of the mapping and its path. Removes overlapping mappings: after a change, a process
 * sends a mapping again before a stack with an address in it.
 */
int target_stacks_add_code(struct target_stacks *t, const struct code_mapping *mapping);

/* Returns the mapping of the byte before `address` (a return address), or NULL. */
const struct code_mapping *target_stacks_find_code(const struct target_stacks *t, uint64_t address);

int target_stacks_set_python(struct target_stacks *t, uint32_t id,
			     const struct target_python *python);

/* Returns NULL if the id was not sent. Valid until the next set. */
const struct target_python *target_stacks_get_python(const struct target_stacks *t, uint32_t id);

/* Sets the text of an NVTX range's frame, interned by the caller. */
int target_stacks_set_nvtx(struct target_stacks *t, uint32_t id, const char *text);

/* Returns NULL if the id was not sent. */
const char *target_stacks_get_nvtx(const struct target_stacks *t, uint32_t id);

int target_stacks_set(struct target_stacks *t, uint32_t id, struct sent_stack stack);

/* Notes that the stack is of an async worker, which works for `owner`. */
int target_stacks_set_handed(struct target_stacks *t, uint32_t id, struct owner_stack owner);

/* Returns false if the stack is of no async worker. */
bool target_stacks_get_handed(const struct target_stacks *t, uint32_t id,
			      struct owner_stack *owner);

/* Returns false if the id was not sent. */
bool target_stacks_get(const struct target_stacks *t, uint32_t id, struct sent_stack *stack);

/* Passes the numbers of sent stacks to the visitor (model/id_remap.h). */
void target_stacks_visit(struct target_stacks *t, const struct id_visitor *visitor);

#endif
