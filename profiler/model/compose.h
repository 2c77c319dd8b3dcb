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
#ifndef PROFILER_MODEL_COMPOSE_H
#define PROFILER_MODEL_COMPOSE_H

#include <stdbool.h>
#include <stdint.h>
#include "profiler/model/stack_table.h"
#include "symbolize/util/record_set.h"

/* In place of a launch's stack. */
#define LAUNCH_UNKNOWN UINT32_MAX           /* launched by something unknown */
#define LAUNCH_NONE_NEEDED (UINT32_MAX - 1) /* work that nothing launches: a root frame */
#define LAUNCH_BY_KERNEL (UINT32_MAX - 2)   /* of a graph's node, by another on the GPU */
#define LAUNCH_EARLIER (UINT32_MAX - 3)     /* before launches were recorded: --delay */
#define LAUNCH_SKIPPED (UINT32_MAX - 4)     /* has no stack of its own: --max-overhead */

/* In place of the stack that created a graph node. */
#define CAPTURE_NONE UINT32_MAX         /* not from a graph */
#define CAPTURE_UNSEEN (UINT32_MAX - 1) /* created before tracing, or unseen */

/* GPU work and its origin; compared as bytes. */
struct gpu_work_origin {
	uint32_t launch;  /* stack, or one of the above */
	uint32_t capture; /* likewise */
	uint32_t work;    /* enum gpu_work */
	uint32_t memory;  /* of an allocation: enum memory_kind; else 0 */
	const char *name; /* of a kernel: mangled and interned; else NULL */
};

struct compose {
	struct stack_table *stacks; /* borrowed */
	RECORD_SET(struct composed) memo;
	struct allowance *memory; /* for the memo; borrowed; NULL: no limit */
	uint32_t paid;            /* taken from it: what was most */
};

void compose_init(struct compose *compose, struct stack_table *stacks);
void compose_release(struct compose *compose);

/* Forgets what was composed: stacks get other numbers. */
void compose_forget(struct compose *compose);

/* The stack of the work itself. */
uint32_t compose_work(struct compose *compose, const struct gpu_work_origin *origin);

/* A node's creation below that of the conditional node that executes its graph. */
uint32_t compose_captures(struct compose *compose, uint32_t outer, uint32_t inner);

/*
 * The stack of a wait for this work (NULL: unknown) by the call with stack `waiter`. `spins`: its
 * thread computes.
 */
uint32_t compose_wait(struct compose *compose, uint32_t waiter, bool spins,
		      const struct gpu_work_origin *origin);

/* The stack of a kernel's wait for pages; `origin` is NULL if the kernel is not known. */
uint32_t compose_stall(struct compose *compose, const struct gpu_work_origin *origin);

/* The stack of a launch, or a mark in its place: LAUNCH_UNKNOWN and the like. */
uint32_t compose_launch(struct compose *compose, uint32_t launch);

/* The stack of a timed call; `kernel`: the address of its kernel's host function, or NULL. */
uint32_t compose_call(struct compose *compose, uint32_t call, const struct code_ref *kernel);

#endif
