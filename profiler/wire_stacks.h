/* SPDX-License-Identifier: MIT */
/*
 * What traced processes have sent of their stacks: where their code lies, their Python functions
 * and NVTX ranges, and ids of the stack table, all by the ids they gave. A process's later word on
 * an address replaces its earlier one. Ids are small and dense; a process that says hello again
 * starts anew.
 */
#ifndef PROFILER_WIRE_STACKS_H
#define PROFILER_WIRE_STACKS_H

#include <stdint.h>
#include "symbolize/hash_index.h"
#include "symbolize/symbolizer.h"

#define WIRE_STACKS_MAX_ID (1u << 22)
#define WIRE_STACKS_MAX_CODE 16384 /* mappings of a process */
#define WIRE_STACKS_NONE UINT32_MAX

struct wire_stacks {
	struct wire_process *processes;
	uint32_t count, capacity;
	struct hash_index index; /* by pid */
};

/* Zero-initialised is empty. */
void wire_stacks_release(struct wire_stacks *w);

/* Copies the mapping, its path included. 0, -ENOMEM, or -ENOSPC. */
int wire_stacks_add_code(struct wire_stacks *w, uint32_t pid, const struct code_mapping *mapping);

/* The mapping with the byte before `address` (a return address), or NULL. */
const struct code_mapping *wire_stacks_find_code(const struct wire_stacks *w, uint32_t pid,
						 uint64_t address);

/* A Python function. Both texts are interned by the caller and outlive the table. */
struct wire_python {
	const char *name;
	const char *file;
};

/* 0, -ENOMEM, or -ERANGE for an id that no sender uses. */
int wire_stacks_set_python(struct wire_stacks *w, uint32_t pid, uint32_t id,
			   const struct wire_python *python);

/* NULL when that id was not sent. Valid until the next set. */
const struct wire_python *wire_stacks_get_python(const struct wire_stacks *w, uint32_t pid,
						 uint32_t id);

/* The frame of an NVTX range, interned by the caller. 0, -ENOMEM, or -ERANGE as above. */
int wire_stacks_set_nvtx(struct wire_stacks *w, uint32_t pid, uint32_t id, const char *text);

/* NULL when that id was not sent. */
const char *wire_stacks_get_nvtx(const struct wire_stacks *w, uint32_t pid, uint32_t id);

/* 0, -ENOMEM, or -ERANGE for an id that no sender uses. */
int wire_stacks_set(struct wire_stacks *w, uint32_t pid, uint32_t id, uint32_t stack);

/* WIRE_STACKS_NONE when that id was not sent. */
uint32_t wire_stacks_get(const struct wire_stacks *w, uint32_t pid, uint32_t id);

void wire_stacks_forget(struct wire_stacks *w, uint32_t pid);

#endif
