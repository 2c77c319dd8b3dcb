/* SPDX-License-Identifier: MIT */
/*
 * Puts names to a profile: stacks of addresses and sums become a call tree.
 *
 * CPU samples lie under their stack. A GPU kernel lies as "[GPU_Kernel]name" under the stack that
 * launched it, other work as "[GPU_Memcpy HtoD]" and the like, or under RESOLVE_NO_LAUNCH at the
 * root when there is no such stack: its time is never dropped. Between the launch of a graph and
 * the work of one of its nodes stand RESOLVE_CAPTURED and the stack of the call that made the node,
 * or RESOLVE_CAPTURE_UNSEEN.
 *
 * A wait for the GPU lies under its call as RESOLVE_WAITING, its time while something ran there
 * below that: what ran, then RESOLVE_LAUNCHED and the stack that launched it. A timed call lies
 * under its stack as RESOLVE_CALL, followed by the kernel's name if it launched one.
 */
#ifndef PROFILER_OUTPUT_RESOLVE_H
#define PROFILER_OUTPUT_RESOLVE_H

#include <stdbool.h>
#include "profiler/output/call_tree.h"
#include "profiler/profile/profile.h"
#include "profiler/profile/stack_table.h"
#include "symbolize/intern.h"
#include "symbolize/symbolizer.h"

#define RESOLVE_NO_LAUNCH "[launch not captured]"
#define RESOLVE_NO_STACK "[stack not captured]"
#define RESOLVE_CAPTURED "[graph node captured at]"
#define RESOLVE_CAPTURE_UNSEEN "[graph node, capture not seen]"
#define RESOLVE_WAITING "[waiting for GPU]"
#define RESOLVE_LAUNCHED "launched at"
#define RESOLVE_CALL "[CUDA call, wall time]"

struct resolve_input {
	const struct profile *profile;
	const struct stack_table *stacks;
	struct symbolizer *symbolizer;
	struct intern *strings; /* receives names made here; must outlive the tree */
	double sample_period_ns;
	bool raw_names; /* leave kernel names mangled */
	bool inlines;   /* inlined functions as frames of their own */
};

/* A sorted tree, or NULL when out of memory. */
struct call_tree *resolve(const struct resolve_input *input);

#endif
