/* SPDX-License-Identifier: MIT */
/*
 * Composes stacks of GPU work, waits and timed calls:
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

/* Stack of a launch, or a mark in its place. */
struct launch_stack {
	uint32_t number;
};
#define LAUNCH_MARK(n) ((struct launch_stack){UINT32_MAX - (n)})
#define LAUNCH_UNKNOWN LAUNCH_MARK(0)     /* the launch is unknown */
#define LAUNCH_NONE_NEEDED LAUNCH_MARK(1) /* work without a launch: a root frame */
#define LAUNCH_BY_KERNEL LAUNCH_MARK(2)   /* a graph node launched by another on the GPU */
#define LAUNCH_EARLIER LAUNCH_MARK(3)     /* before launches were recorded: --delay */
#define LAUNCH_SKIPPED LAUNCH_MARK(4)     /* launched without taking a stack: --max-overhead */

/* Stack that created a graph node, or a mark in its place. */
struct capture_stack {
	uint32_t number;
};
#define CAPTURE_NONE ((struct capture_stack){UINT32_MAX})       /* not in a graph */
#define CAPTURE_UNSEEN ((struct capture_stack){UINT32_MAX - 1}) /* before tracing, or missed */

static inline struct launch_stack launched_at(struct stack_id stack)
{
	return (struct launch_stack){stack.number};
}

static inline struct capture_stack captured_at(struct stack_id stack)
{
	return (struct capture_stack){stack.number};
}

/* GPU work and its origin; compared bytewise. */
struct gpu_work_origin {
	struct launch_stack launch;
	struct capture_stack capture;
	uint32_t work;    /* enum gpu_work */
	uint32_t memory;  /* enum memory_kind of an allocation; else 0 */
	const char *name; /* mangled and interned name of a kernel; else NULL */
};

struct gpu_stacks {
	struct stack_table *stacks; /* borrowed */
	RECORD_SET(struct gpu_stack_entry) memo;
	struct quota *memory; /* quota for the memo; borrowed; NULL: no limit */
	uint32_t paid;        /* records charged to the quota */
};

void gpu_stack_init(struct gpu_stacks *gpu_stacks, struct stack_table *stacks);
void gpu_stack_release(struct gpu_stacks *gpu_stacks);

/* Clears the memo, because stacks get new numbers. */
void gpu_stack_forget(struct gpu_stacks *gpu_stacks);

/* Returns the stack of the work itself. */
struct stack_id gpu_stack_work(struct gpu_stacks *gpu_stacks, const struct gpu_work_origin *origin);

/*
 * Returns the stack of a node's creation, below that of the conditional node whose body contains
 * the node.
 */
struct stack_id gpu_stack_captures(struct gpu_stacks *gpu_stacks, struct stack_id outer,
				   struct stack_id inner);

/*
 * Returns the stack of a wait for this work by the call with stack `waiter`. `origin` is NULL if
 * the work is unknown. `spins`: the thread computes while it waits.
 */
struct stack_id gpu_stack_wait(struct gpu_stacks *gpu_stacks, struct stack_id waiter, bool spins,
			       const struct gpu_work_origin *origin);

/* Returns the stack of a kernel's wait for pages. `origin` is NULL if the kernel is unknown. */
struct stack_id gpu_stack_stall(struct gpu_stacks *gpu_stacks,
				const struct gpu_work_origin *origin);

/* Returns the stack of a launch, or of the frame that stands for a mark. */
struct stack_id gpu_stack_launch(struct gpu_stacks *gpu_stacks, struct launch_stack launch);

/*
 * Returns the stack of a timed call. `kernel` is the address of the kernel's host function, or
 * NULL.
 */
struct stack_id gpu_stack_call(struct gpu_stacks *gpu_stacks, struct stack_id call,
			       const struct code_ref *kernel);

#endif
