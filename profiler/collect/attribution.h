/* SPDX-License-Identifier: MIT */
/*
 * Puts what has been joined into the profile, and into the timeline if there is one: an operation
 * of a GPU with the launch that it belongs to, a call that waited for the GPU with what ran
 * meanwhile.
 *
 * Behind the join (join.h), which decides to which launch an operation belongs, and before the
 * profile's rows. Here a graph's node finds the stack that made it, the process's books are kept,
 * and waits learn what ran.
 */
#ifndef PROFILER_COLLECT_ATTRIBUTION_H
#define PROFILER_COLLECT_ATTRIBUTION_H

#include <stdbool.h>
#include <stdint.h>
#include "cupti_trace/gpu_event.h"
#include "profiler/collect/compose.h"
#include "profiler/collect/graph_nodes.h"
#include "profiler/collect/join.h"
#include "profiler/collect/processes.h"
#include "profiler/collect/waits.h"
#include "profiler/profile/ledger.h"
#include "profiler/profile/places.h"
#include "profiler/profile/profile.h"
#include "profiler/profile/timeline.h"

/* Pairs of a stack and a thread. */
#ifndef ATTRIBUTION_ORIGINS_MAX /* tests have a smaller one */
#define ATTRIBUTION_ORIGINS_MAX (1u << 20)
#endif

/* What it works on; all borrowed. */
struct attribution_parts {
	struct processes *processes;
	struct stack_table *stacks;
	struct profile *profile;
	struct places *places;
	struct ledger *ledger;
	struct allowance *allowance; /* for sums by stream */
	struct timeline *timeline;   /* NULL: not asked for */
};

struct attribution {
	struct attribution_parts parts;
	struct compose compose;
	struct graph_nodes graph_nodes;
	struct waits *waits; /* NULL: not asked for */
	/* the process whose books are being closed, though it is in no table any more; or NULL */
	struct process *settling;
	struct launch_origin *origins;
	uint32_t origin_count, origin_capacity;
	struct hash_index origin_index;
};

/* 0 or -ENOMEM. */
int attribution_init(struct attribution *a, const struct attribution_parts *parts,
		     bool follows_waits);
void attribution_release(struct attribution *a);

/*
 * What the join carries for a launch from this stack (or LAUNCH_UNKNOWN) by this thread: a stack,
 * or where threads are told apart the number of a pair of both. Past ATTRIBUTION_ORIGINS_MAX pairs
 * further ones are without their thread.
 */
uint32_t attribution_origin(struct attribution *a, uint32_t stack, uint32_t tid);

/* An operation that the join has decided: join.h's output. */
void attribution_add(void *attribution, uint32_t origin, uint64_t launched_ns,
		     const struct gpu_operation *operation);

/* A thread waited for the GPU; `stack` is that of the call. */
void attribution_add_wait(struct attribution *a, const struct process *process, uint32_t stack,
			  const struct gpu_event_wait *wait);

/* All that ended by `now_ns` is known: decides the waits that can be decided; or all of them. */
void attribution_advance(struct attribution *a, uint64_t now_ns);
void attribution_finish(struct attribution *a);

#endif
