/* SPDX-License-Identifier: MIT */
/*
 * Distinct stacks with small ids: a tree of frames whose paths from the root are the stacks.
 *
 * A stack consists of its outer part (another stack) and its innermost frame, so stacks with the
 * same outer frames share them, and a stack can be extended: by the stack where a graph node was
 * captured, or the kernel that ran. A frame is a code location, which is named later, or a text.
 *
 * Bounded: beyond STACK_TABLE_MAX stacks or the quota, or out of memory, a new stack becomes
 * STACK_NOT_KEPT, which has one frame that says so, and so does anything added below it. So adding
 * never fails, and time counted under a stack is never lost.
 */
#ifndef PROFILER_MODEL_STACK_TABLE_H
#define PROFILER_MODEL_STACK_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include "profiler/base/quota.h"
#include "profiler/model/id_remap.h"
#include "symbolize/code_ref.h"
#include "symbolize/util/hash_index.h"

#ifndef STACK_TABLE_MAX /* tests use a smaller one */
#define STACK_TABLE_MAX (2u << 20)
#endif

/*
 * What a stack and a frame take from the quota: with their indexes, and with what naming needs
 * for each of them (result_naming.c, symbolize/frame_naming.h).
 */
#define STACK_TABLE_STACK_BYTES (8 + HASH_INDEX_ENTRY_BYTES + 12)
#define STACK_TABLE_FRAME_BYTES (24 + HASH_INDEX_ENTRY_BYTES + 200)

enum frame_kind {
	FRAME_CODE = 1, /* `code`, an exact address */
	FRAME_RETURN,   /* `code`, a return address */
	FRAME_API,      /* `text`: the name of the CUDA function that was called */
	FRAME_PYTHON,   /* `text`, `file`, `line`: a Python function */
	FRAME_NVTX,     /* `text`: an NVTX range that was open */
	FRAME_MARK,     /* `text`: describes the stack, "[truncated]" */
	FRAME_WAIT,     /* `text`: a thread or a kernel waits, "[waiting for GPU]" */
	FRAME_SPIN,     /* PSEUDO_SPINNING: a thread waits for the GPU on a CPU, within its stack */
	FRAME_IDLE,     /* `text`: a device is idle, "[GPU 0 idle]" */
	FRAME_GPU_KERNEL,   /* `text`: a kernel's mangled name */
	FRAME_GPU_WORK,     /* `text`: another kind of work, "[GPU_Memset]" */
	FRAME_GPU_FUNCTION, /* `text`: the mangled name of a device function in a kernel */
	FRAME_GPU_LINE,     /* `file`, `line`: where the source of a kernel is; `text` as `file` */
	FRAME_STALL,        /* `text`: why warps of a kernel issued no instruction */
	FRAME_CALL, /* a timed call; `code` is the host function of its kernel, if it has one */
};

/* Compared with memcmp: zero-initialise. Texts outlive the table: literals, or interned. */
struct frame {
	uint32_t kind; /* enum frame_kind */
	uint32_t line; /* 0: unknown */
	union {
		struct code_ref code;
		struct {
			const char *text;
			const char *file; /* NULL: none */
		};
	};
};

/* Returns whether a frame describes its stack: it is of one of the kinds of marks. */
static inline bool frame_is_pseudo(const struct frame *frame)
{
	return frame->kind >= FRAME_MARK && frame->kind <= FRAME_IDLE;
}

struct stack_table;

/* NULL: out of memory. */
struct stack_table *stack_table_new(void);
void stack_table_free(struct stack_table *table);

/* From now on new stacks and frames take from this quota, which is borrowed. */
void stack_table_limit(struct stack_table *table, struct quota *memory);

#define STACK_EMPTY ((struct stack_id){0})    /* no frames: the root */
#define STACK_NOT_KEPT ((struct stack_id){1}) /* one frame, PSEUDO_TOO_MANY_STACKS */

/* The stack `outer` with one more frame inside. */
struct stack_id stack_table_push(struct stack_table *table, struct stack_id outer,
				 const struct frame *frame);

/* Does the same, with a text frame. */
struct stack_id stack_table_push_text(struct stack_table *table, struct stack_id outer,
				      enum frame_kind kind, const char *text);

/* Does the same, with frames listed innermost first. */
struct stack_id stack_table_add(struct stack_table *table, struct stack_id outer,
				const struct frame *frames, uint32_t count);

/* Does the same, with all frames of another stack. */
struct stack_id stack_table_append(struct stack_table *table, struct stack_id outer,
				   struct stack_id inner);

/*
 * The innermost frame of a stack (NULL for STACK_EMPTY), its number, and the stack around it; valid
 * until the next addition. Frames are numbered from 0; equal frames have the same number.
 */
const struct frame *stack_table_frame(const struct stack_table *table, struct stack_id stack);
uint32_t stack_table_frame_number(const struct stack_table *table, struct stack_id stack);
struct stack_id stack_table_outer(const struct stack_table *table, struct stack_id stack);

/* Returns whether a stack has more frames than `most`; takes no more steps than that. */
bool stack_table_is_deeper(const struct stack_table *table, struct stack_id stack, uint32_t most);

/* The number of stacks, of frames, and of stacks not kept. */
uint32_t stack_table_count(const struct stack_table *table);
uint32_t stack_table_frame_count(const struct stack_table *table);
uint64_t stack_table_refused(const struct stack_table *table);

/*
 * Forgets stacks that are not in use, and frames of no other stack; returns what they took to the
 * quota. `numbers` has an entry for each stack, ID_UNUSED at first (id_remap.h).
 * stack_table_use marks a stack, and those around it; stack_table_forget puts the new numbers in
 * place of the marks. False: out of memory, and nothing has changed.
 */
void stack_table_use(const struct stack_table *table, struct stack_id stack, uint32_t *numbers);
bool stack_table_forget(struct stack_table *table, uint32_t *numbers);

#endif
