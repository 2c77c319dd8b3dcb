/* SPDX-License-Identifier: MIT */
/*
 * Distinct stacks, each known by a small id: a tree of frames whose paths from the root are the
 * stacks.
 *
 * A stack is its outer part (another stack) and its innermost frame, so stacks that begin alike
 * share what they have in common, and more can be put below a stack that is there already: where a
 * graph's node was captured, the kernel that ran. A frame is a place in code, which gets its name
 * later, or a text.
 *
 * Bounded: past STACK_TABLE_MAX stacks, or out of memory, a new stack becomes STACK_NOT_KEPT, whose
 * one frame says so; what is added below that likewise. So adding never fails, and what is counted
 * under a stack is never lost.
 */
#ifndef PROFILER_PROFILE_STACK_TABLE_H
#define PROFILER_PROFILE_STACK_TABLE_H

#include <stdint.h>
#include "symbolize/symbolizer.h"

/* 8 bytes each, and up to 32 of index. */
#ifndef STACK_TABLE_MAX /* tests have a smaller one */
#define STACK_TABLE_MAX (5u << 20)
#endif

enum frame_kind {
	FRAME_CODE = 1,   /* `code`, an exact address */
	FRAME_RETURN,     /* `code`, a return address */
	FRAME_API,        /* `text`: a function of CUDA that was called, by its own name */
	FRAME_PYTHON,     /* `text`, `file`, `line`: a Python function */
	FRAME_NVTX,       /* `text`: a range that was open there */
	FRAME_MARK,       /* `text`: says something of the stack, "[truncated]" */
	FRAME_GPU_KERNEL, /* `text`: a kernel's mangled name */
	FRAME_GPU_WORK,   /* `text`: another kind of work, "[GPU_Memset]" */
	FRAME_CALL, /* a timed call; `code` is the host's function of the kernel, if it has one */
};

/*
 * Compared with memcmp: zero-initialise. Texts live as long as the table: literals, or interned.
 */
struct frame {
	uint32_t kind; /* enum frame_kind */
	uint32_t line; /* 0: not known */
	union {
		struct code_ref code;
		struct {
			const char *text;
			const char *file; /* NULL: none */
		};
	};
};

struct stack_table;

/* NULL: out of memory. */
struct stack_table *stack_table_new(void);
void stack_table_free(struct stack_table *table);

#define STACK_EMPTY 0u    /* no frames: the root */
#define STACK_NOT_KEPT 1u /* one frame, MARK_TOO_MANY_STACKS */

/* The stack with one more frame inside `outer`. */
uint32_t stack_table_push(struct stack_table *table, uint32_t outer, const struct frame *frame);

/* The same with a text. */
uint32_t stack_table_push_text(struct stack_table *table, uint32_t outer, enum frame_kind kind,
			       const char *text);

/* The same with frames that are listed innermost first. */
uint32_t stack_table_add(struct stack_table *table, uint32_t outer, const struct frame *frames,
			 uint32_t count);

/* The same with all frames of another stack. */
uint32_t stack_table_append(struct stack_table *table, uint32_t outer, uint32_t inner);

/*
 * The innermost frame of a stack (NULL of STACK_EMPTY), its number, and the stack around it; all
 * are valid until the next addition. Frames have numbers from 0, equal frames the same one.
 */
const struct frame *stack_table_frame(const struct stack_table *table, uint32_t stack);
uint32_t stack_table_frame_number(const struct stack_table *table, uint32_t stack);
uint32_t stack_table_outer(const struct stack_table *table, uint32_t stack);

/* How many stacks and frames there are, and how many stacks were not kept. */
uint32_t stack_table_count(const struct stack_table *table);
uint32_t stack_table_frame_count(const struct stack_table *table);
uint64_t stack_table_refused(const struct stack_table *table);

/* A frame by its number. */
const struct frame *stack_table_frame_at(const struct stack_table *table, uint32_t number);

#endif
