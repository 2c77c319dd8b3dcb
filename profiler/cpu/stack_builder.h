/* SPDX-License-Identifier: MIT */
/*
 * Builds stacks from snapshots of threads, and from stacks that processes captured themselves.
 *
 * Snapshots are unwound, addresses located in the process's current address space, and Python
 * frames inserted. A stack that does not reach the thread's start begins at "[truncated]", and is
 * counted with the reason. A stack that reaches it by a guess is counted, and not whole.
 *
 * In samples the injected library, with all that it calls, is one frame, PSEUDO_LIBRARY: the
 * profiler's work, not the program's. A signal handler that interrupts the library is kept.
 */
#ifndef PROFILER_CPU_STACK_BUILDER_H
#define PROFILER_CPU_STACK_BUILDER_H

#include <stdbool.h>
#include <stdint.h>
#include "bpf/stack_event.h"
#include "cupti_trace/wire/gpu_event.h"
#include "profiler/base/quota.h"
#include "profiler/cpu/processes.h"
#include "profiler/model/cut_stacks.h"
#include "profiler/model/ledger.h"
#include "profiler/model/stack_table.h"
#include "symbolize/code_ref.h"
#include "symbolize/unwind.h"
#include "symbolize/util/intern.h"

#define STACK_BUILDER_UNWOUND 512 /* native frames of a snapshot */
#define STACK_BUILDER_MODULES 256

/* All pointers are borrowed. */
struct stack_builder {
	struct symbolizer *symbolizer;
	struct stack_table *stacks;
	struct pythons *pythons;
	struct intern *strings;
	struct quota *quota; /* quota for data from targets */
	struct ledger *ledger;
	struct cut_stacks *cut;
	const char *library;  /* file name of the injected library; NULL if there is none */
	bool has_breakpoints; /* processes have probes */
	bool reads_no_python; /* not privileged to read Python frames */

	/* user part of the last snapshot, innermost first, for recordings */
	struct unwind_frame unwound[STACK_BUILDER_UNWOUND];
	uint32_t unwound_count;
	enum unwind_end unwound_end;

	struct stack_builder_module {
		uint32_t module;
		bool is_known, is_library;
	} modules[STACK_BUILDER_MODULES]; /* cache indexed by module number */
};

/* Returns true if a base name is that of the library, as processes map it. */
bool stack_builder_is_library(const struct stack_builder *b, const char *name);

/* Returns the interned copy of a text from a target. Returns NULL if refused or out of memory. */
const char *stack_builder_text(struct stack_builder *b, const char *text);

/*
 * Builds the stack of a snapshot. `api` is the CUDA function at whose first instruction the
 * snapshot was taken, or NULL. `api` replaces the innermost frame, whatever symbols the file has.
 */
struct stack_id stack_builder_snapshot(struct stack_builder *b, struct process *process,
				       const struct stack_snapshot *snapshot, const char *api,
				       bool *is_whole);

/*
 * Returns the file of the start function of the last snapshot's thread: the outermost frame outside
 * the C library. Returns NULL if unknown, or the stack is not whole.
 */
const char *stack_builder_start_module(const struct stack_builder *b);

/* Builds the stack of a snapshot taken where a thread is created. */
struct stack_id stack_builder_creator(struct stack_builder *b, struct process *process,
				      const struct stack_snapshot *snapshot);

/*
 * Builds a recorded stack from user addresses, as many as `event` says, then kernel addresses. In a
 * launch `api` replaces the first.
 */
struct stack_id stack_builder_addresses(struct stack_builder *b, struct process *process,
					const struct stack_event *event, const __u64 *addresses,
					const char *api);

/* Builds a stack that the process captured itself, below the stack `outer`. */
struct stack_id stack_builder_captured(struct stack_builder *b, struct process *process,
				       struct stack_id outer, const struct gpu_event_stack *stack);

/* Adds a frame to `outer`: the thread has handed work to the thread `name`. */
struct stack_id stack_builder_handed(struct stack_builder *b, struct stack_id outer,
				     const char *name);

#endif
