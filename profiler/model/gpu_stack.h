/* SPDX-License-Identifier: MIT */
/*
 * Composes stacks: GPU work below the call that launched it, a wait with the work it waited for, a
 * timed call with its kernel.
 *
 *   launch stack; [graph node captured at]; stack of the node; kernel
 *   launch stack; [graph node captured at]; stack of a conditional node; [graph node captured at];
 *     stack of a node in its body; kernel
 *   waiting call; [waiting for GPU]; kernel; launched at; launch stack; ...
 *   waiting call; what it computes; [spinning for GPU]; kernel; launched at; launch stack; ...
 *   launch stack; ...; kernel; [waiting for pages]
 *   [stack not sampled]; kernel
 *   call; [CUDA call, wall time]kernel
 */
#ifndef PROFILER_MODEL_GPU_STACK_H
#define PROFILER_MODEL_GPU_STACK_H

#include <stdbool.h>
#include <stdint.h>
#include "profiler/model/stack_table.h"
#include "symbolize/util/record_set.h"

/* The stack of a launch, or a mark in its place. */
struct launch_stack {
	uint32_t number;
};
#define LAUNCH_MARK(n) ((struct launch_stack){UINT32_MAX - (n)})
#define LAUNCH_UNKNOWN LAUNCH_MARK(0)     /* launched by something unknown */
#define LAUNCH_NONE_NEEDED LAUNCH_MARK(1) /* work that nothing launches: a root frame */
#define LAUNCH_BY_KERNEL LAUNCH_MARK(2)   /* of a graph's node, by another on the GPU */
#define LAUNCH_EARLIER LAUNCH_MARK(3)     /* before launches were recorded: --delay */
#define LAUNCH_SKIPPED LAUNCH_MARK(4)     /* has no stack of its own: --max-overhead */

/* The stack that created a graph node, or a mark in its place. */
struct capture_stack {
	uint32_t number;
};
#define CAPTURE_NONE ((struct capture_stack){UINT32_MAX})       /* not from a graph */
#define CAPTURE_UNSEEN ((struct capture_stack){UINT32_MAX - 1}) /* before tracing, or unseen */

static inline struct launch_stack launched_at(struct stack_id stack)
{
	return (struct launch_stack){stack.number};
}

static inline struct capture_stack captured_at(struct stack_id stack)
{
	return (struct capture_stack){stack.number};
}

/* GPU work and its origin; compared as bytes. */
struct gpu_work_origin {
	struct launch_stack launch;
	struct capture_stack capture;
	uint32_t work;    /* enum gpu_work */
	uint32_t memory;  /* of an allocation: enum memory_kind; else 0 */
	const char *name; /* of a kernel: mangled and interned; else NULL */
};

struct gpu_stacks {
	struct stack_table *stacks; /* borrowed */
	RECORD_SET(struct gpu_stack_entry) memo;
	struct quota *memory; /* for the memo; borrowed; NULL: no limit */
	uint32_t paid;        /* taken from it: what was most */
};

void gpu_stack_init(struct gpu_stacks *gpu_stacks, struct stack_table *stacks);
void gpu_stack_release(struct gpu_stacks *gpu_stacks);

/* Forgets what was composed: stacks get other numbers. */
void gpu_stack_forget(struct gpu_stacks *gpu_stacks);

/* The stack of the work itself. */
struct stack_id gpu_stack_work(struct gpu_stacks *gpu_stacks, const struct gpu_work_origin *origin);

/* A node's creation below that of the conditional node that executes its graph. */
struct stack_id gpu_stack_captures(struct gpu_stacks *gpu_stacks, struct stack_id outer,
				   struct stack_id inner);

/*
 * The stack of a wait for this work (NULL: unknown) by the call with stack `waiter`. `spins`: its
 * thread computes.
 */
struct stack_id gpu_stack_wait(struct gpu_stacks *gpu_stacks, struct stack_id waiter, bool spins,
			       const struct gpu_work_origin *origin);

/* The stack of a kernel's wait for pages; `origin` is NULL if the kernel is not known. */
struct stack_id gpu_stack_stall(struct gpu_stacks *gpu_stacks,
				const struct gpu_work_origin *origin);

/* The stack of a launch, or of the frame that a mark stands for. */
struct stack_id gpu_stack_launch(struct gpu_stacks *gpu_stacks, struct launch_stack launch);

/* The stack of a timed call; `kernel`: the address of its kernel's host function, or NULL. */
struct stack_id gpu_stack_call(struct gpu_stacks *gpu_stacks, struct stack_id call,
			       const struct code_ref *kernel);

#endif
