/* SPDX-License-Identifier: MIT */
/*
 * Stacks from what a source has of them: a snapshot of a thread that is unwound here, or a stack
 * that the process took itself. Addresses are located in the address space of the process as it is
 * now, Python's functions stand in between. A stack that does not reach the thread's start begins
 * at
 * "[truncated]", and is counted.
 */
#ifndef PROFILER_COLLECT_STACK_BUILDER_H
#define PROFILER_COLLECT_STACK_BUILDER_H

#include <stdbool.h>
#include <stdint.h>
#include "bpf/stack_event.h"
#include "cupti_trace/gpu_event.h"
#include "profiler/base/allowance.h"
#include "profiler/collect/processes.h"
#include "profiler/profile/ledger.h"
#include "profiler/profile/stack_table.h"
#include "symbolize/intern.h"
#include "symbolize/symbolizer.h"
#include "symbolize/unwind.h"

#define STACK_BUILDER_UNWOUND 512 /* native frames of a snapshot */

/* All pointers are borrowed. */
struct stack_builder {
	struct symbolizer *symbolizer;
	struct stack_table *stacks;
	struct pythons *pythons;
	struct intern *strings;
	struct allowance *allowance; /* for what targets tell */
	struct ledger *ledger;
	bool has_breakpoints; /* there are probes in processes */

	/* the user part of the last snapshot, innermost first: for recordings */
	struct unwind_frame unwound[STACK_BUILDER_UNWOUND];
	uint32_t unwound_count;
	bool unwound_is_whole;
};

/* A text that a target told, interned; NULL: refused, or out of memory. */
const char *stack_builder_text(struct stack_builder *b, const char *text);

/*
 * A snapshot's stack. `api`: the function of CUDA at whose first instruction it was taken, which
 * stands in the place of the innermost frame by its own name, whatever symbols its file has; or
 * NULL.
 */
uint32_t stack_builder_snapshot(struct stack_builder *b, struct process *process,
				const struct stack_snapshot *snapshot, const char *api,
				bool *is_whole);

/*
 * A recorded stack: as many addresses of the user's as `event` says, then those of the kernel. Of a
 * launch the first is replaced by `api`.
 */
uint32_t stack_builder_addresses(struct stack_builder *b, struct process *process,
				 const struct stack_event *event, const __u64 *addresses,
				 const char *api);

/* A stack that the process took itself. */
uint32_t stack_builder_told(struct stack_builder *b, struct process *process,
			    const struct gpu_event_stack *told);

#endif
