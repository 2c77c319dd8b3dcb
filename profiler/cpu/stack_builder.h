/* SPDX-License-Identifier: MIT */
/*
 * Builds stacks from snapshots of threads, which it unwinds, and from stacks that a process
 * captured itself. Locates addresses in the current address space of the process, and inserts
 * Python frames. A stack that does not reach the thread's start begins at "[truncated]", and is
 * counted with the reason; one that does so by a guess is counted, and not whole.
 *
 * In samples the library that is in the process is one frame, PSEUDO_LIBRARY, with all that it
 * calls: this is the profile's work, and not the program's. A signal handler that interrupts it is
 * not.
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
	struct quota *quota; /* for data from targets */
	struct ledger *ledger;
	struct cut_stacks *cut;
	const char *library;  /* file name of the library in processes; NULL: there is none */
	bool has_breakpoints; /* probes are set in processes */
	bool reads_no_python; /* for want of privilege */

	/* the user part of the last snapshot, innermost first: for recordings */
	struct unwind_frame unwound[STACK_BUILDER_UNWOUND];
	uint32_t unwound_count;
	enum unwind_end unwound_end;

	struct stack_builder_module {
		uint32_t module;
		bool is_known, is_library;
	} modules[STACK_BUILDER_MODULES]; /* a cache, by number */
};

/* Returns whether a file's name, without folders, is the library's as processes map it. */
bool stack_builder_is_library(const struct stack_builder *b, const char *name);

/* A text from a target, interned; NULL: refused, or out of memory. */
const char *stack_builder_text(struct stack_builder *b, const char *text);

/*
 * The stack of a snapshot. `api`: the CUDA function at whose first instruction it was taken, or
 * NULL. It replaces the innermost frame, whatever symbols the file has.
 */
struct stack_id stack_builder_snapshot(struct stack_builder *b, struct process *process,
				       const struct stack_snapshot *snapshot, const char *api,
				       bool *is_whole);

/*
 * The file of the function that the thread of the last snapshot was started with: of the outermost
 * frame outside of the C library. NULL: unknown, or its stack is not whole.
 */
const char *stack_builder_start_module(const struct stack_builder *b);

/* The stack of a snapshot that was taken where a thread is created. */
struct stack_id stack_builder_creator(struct stack_builder *b, struct process *process,
				      const struct stack_snapshot *snapshot);

/*
 * A recorded stack: the user addresses, as many as `event` says, then those of the kernel. In a
 * launch `api` replaces the first.
 */
struct stack_id stack_builder_addresses(struct stack_builder *b, struct process *process,
					const struct stack_event *event, const __u64 *addresses,
					const char *api);

/* A stack that the process captured itself, below the stack `outer`. */
struct stack_id stack_builder_captured(struct stack_builder *b, struct process *process,
				       struct stack_id outer, const struct gpu_event_stack *stack);

/* The stack of a thread with one more frame: it has handed work to the thread of this name. */
struct stack_id stack_builder_handed(struct stack_builder *b, struct stack_id outer,
				     const char *name);

#endif
