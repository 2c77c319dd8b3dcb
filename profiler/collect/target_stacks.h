/* SPDX-License-Identifier: MIT */
/*
 * What traced processes have sent of their stacks: where their code lies, their Python functions
 * and NVTX ranges, and ids of the stack table, all by the ids they gave. A process's later word on
 * an address replaces its earlier one. Ids are small and dense; a process that says hello again
 * starts anew.
 */
#ifndef PROFILER_COLLECT_TARGET_STACKS_H
#define PROFILER_COLLECT_TARGET_STACKS_H

#include <stdint.h>
#include "symbolize/hash_index.h"
#include "symbolize/symbolizer.h"

#define TARGET_STACKS_MAX_ID (1u << 22)
#define TARGET_STACKS_MAX_CODE 16384 /* mappings of a process */
#define TARGET_STACKS_NONE UINT32_MAX

struct target_stacks {
	struct target_process *processes;
	uint32_t count, capacity;
	struct hash_index index; /* by pid */
};

/* Zero-initialised is empty. */
void target_stacks_release(struct target_stacks *w);

/* Copies the mapping, its path included. 0, -ENOMEM, or -ENOSPC. */
int target_stacks_add_code(struct target_stacks *w, uint32_t pid,
			   const struct code_mapping *mapping);

/* The mapping with the byte before `address` (a return address), or NULL. */
const struct code_mapping *target_stacks_find_code(const struct target_stacks *w, uint32_t pid,
						   uint64_t address);

/* A Python function. Both texts are interned by the caller and outlive the table. */
struct target_python {
	const char *name;
	const char *file;
};

/* 0, -ENOMEM, or -ERANGE for an id that no sender uses. */
int target_stacks_set_python(struct target_stacks *w, uint32_t pid, uint32_t id,
			     const struct target_python *python);

/* NULL when that id was not sent. Valid until the next set. */
const struct target_python *target_stacks_get_python(const struct target_stacks *w, uint32_t pid,
						     uint32_t id);

/* The frame of an NVTX range, interned by the caller. 0, -ENOMEM, or -ERANGE as above. */
int target_stacks_set_nvtx(struct target_stacks *w, uint32_t pid, uint32_t id, const char *text);

/* NULL when that id was not sent. */
const char *target_stacks_get_nvtx(const struct target_stacks *w, uint32_t pid, uint32_t id);

/* 0, -ENOMEM, or -ERANGE for an id that no sender uses. */
int target_stacks_set(struct target_stacks *w, uint32_t pid, uint32_t id, uint32_t stack);

/* TARGET_STACKS_NONE when that id was not sent. */
uint32_t target_stacks_get(const struct target_stacks *w, uint32_t pid, uint32_t id);

void target_stacks_forget(struct target_stacks *w, uint32_t pid);

#endif
