/* SPDX-License-Identifier: MIT */
/*
 * Stacks that are put together from several: what ran on a GPU below the call that launched it, a
 * wait with what it waited for, a timed call with its kernel.
 *
 *   launch stack; [graph node captured at]; stack of the node; kernel
 *   waiting call; [waiting for GPU]; kernel; launched at; launch stack; ...
 *   call; [CUDA call, wall time]kernel
 */
#ifndef PROFILER_COLLECT_COMPOSE_H
#define PROFILER_COLLECT_COMPOSE_H

#include <stdint.h>
#include "profiler/profile/stack_table.h"
#include "symbolize/hash_index.h"

/* In the place of a launch's stack. */
#define LAUNCH_UNKNOWN UINT32_MAX           /* something launched it; not known what */
#define LAUNCH_NONE_NEEDED (UINT32_MAX - 1) /* nothing launches such work: it lies at the root */

/* In the place of the stack that made a graph's node. */
#define CAPTURE_NONE UINT32_MAX         /* not a graph's node */
#define CAPTURE_UNSEEN (UINT32_MAX - 1) /* made before tracing, or out of sight */

/* Work of a GPU, and where it came from: compared as bytes. */
struct gpu_work_origin {
	uint32_t launch;  /* stack, or one of the above */
	uint32_t capture; /* likewise */
	uint32_t work;    /* enum gpu_work */
	uint32_t padding; /* 0 */
	const char *name; /* of a kernel, mangled; interned. Else NULL */
};

struct compose {
	struct stack_table *stacks; /* borrowed */
	struct composed *memo;
	uint32_t count, capacity;
	struct hash_index index;
};

void compose_init(struct compose *compose, struct stack_table *stacks);
void compose_release(struct compose *compose);

/* The stack of the work itself. */
uint32_t compose_work(struct compose *compose, const struct gpu_work_origin *origin);

/* Of a wait by the call with this stack: for this work, or with NULL for nothing that is known. */
uint32_t compose_wait(struct compose *compose, uint32_t waiter,
		      const struct gpu_work_origin *origin);

/* Of a timed call; `kernel`: where the host's function of its kernel lies, or NULL. */
uint32_t compose_call(struct compose *compose, uint32_t call, const struct code_ref *kernel);

#endif
