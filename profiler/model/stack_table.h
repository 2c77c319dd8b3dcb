/* SPDX-License-Identifier: MIT */
/*
 * Numbers distinct stacks: a tree of frames, whose paths from the root are the stacks.
 *
 * A stack is an outer part (another stack) and its innermost frame. So stacks share common outer
 * frames. A stack can be extended, for example by a graph node's capture stack, or by a kernel.
 * A frame is a code location, which is named later, or a text.
 *
 * Bounded: beyond STACK_TABLE_MAX stacks or the quota, or out of memory, a new stack becomes
 * STACK_NOT_KEPT. Stacks added below STACK_NOT_KEPT become STACK_NOT_KEPT, too. So adding never
 * fails, and no time is lost.
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
 * Bytes charged to the quota: with indexes, and with the memory that naming needs per stack and
 * frame (result_naming.c, symbolize/frame_naming.h).
 */
#define STACK_TABLE_STACK_BYTES (8 + HASH_INDEX_ENTRY_BYTES + 12)
#define STACK_TABLE_FRAME_BYTES (24 + HASH_INDEX_ENTRY_BYTES + 200)

enum frame_kind {
	FRAME_CODE = 1,     /* `code`, an exact address */
	FRAME_RETURN,       /* `code`, a return address */
	FRAME_API,          /* `text`: the called CUDA function */
	FRAME_PYTHON,       /* `text`, `file`, `line`: a Python function */
	FRAME_NVTX,         /* `text`: an open NVTX range */
	FRAME_MARK,         /* `text`: describes the stack, "[truncated]" */
	FRAME_WAIT,         /* `text`: a wait of a thread or kernel, "[waiting for GPU]" */
	FRAME_SPIN,         /* PSEUDO_SPINNING, within the stack of a busy-waiting thread */
	FRAME_IDLE,         /* `text`: an idle device, "[GPU 0 idle]" */
	FRAME_GPU_KERNEL,   /* `text`: a kernel's mangled name */
	FRAME_GPU_WORK,     /* `text`: work other than kernels, "[GPU_Memset]" */
	FRAME_GPU_FUNCTION, /* `text`: mangled name of a device function in a kernel */
	FRAME_GPU_LINE,     /* `file`, `line`: source of a kernel; `text` as `file` */
	FRAME_STALL,        /* `text`: reason why warps of a kernel issued no instruction */
	FRAME_CALL,         /* a timed call; `code`: host function of its kernel, or 0 */
};

/* Compared bytewise: zero-initialise. Texts must outlive the table: literals, or interned. */
struct frame {
	uint32_t kind; /* enum frame_kind */
	uint32_t line; /* 0: unknown */
	union {
		struct code_ref code;
		struct {
			const char *text;
			const char *file; /* NULL if there is none */
		};
	};
};

/* Returns whether a frame describes its stack, and is no function. */
static inline bool frame_is_pseudo(const struct frame *frame)
{
	return frame->kind >= FRAME_MARK && frame->kind <= FRAME_IDLE;
}

struct stack_table;

/* Returns NULL if out of memory. */
struct stack_table *stack_table_new(void);
void stack_table_free(struct stack_table *table);

/* Sets the quota for new stacks and frames; borrowed. */
void stack_table_limit(struct stack_table *table, struct quota *memory);

#define STACK_EMPTY ((struct stack_id){0})    /* the root: no frames */
#define STACK_NOT_KEPT ((struct stack_id){1}) /* one frame, PSEUDO_TOO_MANY_STACKS */

/* Returns the stack `outer` with one more frame inside. */
struct stack_id stack_table_push(struct stack_table *table, struct stack_id outer,
				 const struct frame *frame);

/* Returns the stack `outer` with a text frame inside. */
struct stack_id stack_table_push_text(struct stack_table *table, struct stack_id outer,
				      enum frame_kind kind, const char *text);

/* Returns the stack `outer` with frames inside, which are listed innermost first. */
struct stack_id stack_table_add(struct stack_table *table, struct stack_id outer,
				const struct frame *frames, uint32_t count);

/* Returns the stack `outer` with all frames of another stack inside. */
struct stack_id stack_table_append(struct stack_table *table, struct stack_id outer,
				   struct stack_id inner);

/*
 * Return the innermost frame of a stack (NULL for STACK_EMPTY), its number, and the stack around
 * it. The frame is valid until the next addition. Frames are numbered from 0; equal frames have one
 * number.
 */
const struct frame *stack_table_frame(const struct stack_table *table, struct stack_id stack);
uint32_t stack_table_frame_number(const struct stack_table *table, struct stack_id stack);
struct stack_id stack_table_outer(const struct stack_table *table, struct stack_id stack);

/* Returns whether a stack has more than `most` frames, in at most that many steps. */
bool stack_table_is_deeper(const struct stack_table *table, struct stack_id stack, uint32_t most);

/* Return the number of stacks, of frames, and of stacks that were not kept. */
uint32_t stack_table_count(const struct stack_table *table);
uint32_t stack_table_frame_count(const struct stack_table *table);
uint64_t stack_table_refused(const struct stack_table *table);

/*
 * Drops unused stacks and their frames, and returns their bytes to the quota. `numbers` has an
 * entry for each stack, initially ID_UNUSED (id_remap.h). stack_table_use() marks a stack and all
 * outer ones. stack_table_forget() replaces marks by new numbers. Returns false, changing nothing,
 * if out of memory.
 */
void stack_table_use(const struct stack_table *table, struct stack_id stack, uint32_t *numbers);
bool stack_table_forget(struct stack_table *table, uint32_t *numbers);

#endif
