/* SPDX-License-Identifier: MIT */
/*
 * The collecting half of a run, without descriptors or children: takes in what the sources read,
 * one event at a time, and keeps the profile.
 *
 *   process events ---> processes, their mappings
 *   stacks -----------> unwound ------------------------------------> CPU rows, timed calls
 *   what the target sends -> stacks, graph nodes; launches, operations -> join -> attribution ->
 * rows
 *
 * What becomes part of a row becomes a record of the timeline at the same place, if one is wanted.
 *
 * Stacks are located in the address space of their moment: the caller hands in process events and
 * stacks in order of time. Events of the pipe come in the order in which each process wrote them.
 * Recorded streams take the same way in tests.
 *
 * Only processes of the target's tree are believed. Times are CLOCK_MONOTONIC in ns.
 */
#ifndef PROFILER_COLLECT_COLLECT_H
#define PROFILER_COLLECT_COLLECT_H

#include <stdbool.h>
#include <stdint.h>
#include "bpf/stack_event.h"
#include "cupti_trace/gpu_event.h"
#include "profiler/collect/process_event.h"
#include "profiler/collect/processes.h"
#include "profiler/profile/collected.h"
#include "symbolize/unwind.h"

struct collect_options {
	uint64_t sample_ns;  /* what a CPU sample weighs */
	uint32_t place_mask; /* places.h: which parts of places are told apart */
	bool follows_waits;
	bool tells_devices; /* which devices were used is of interest */
	bool python_lines;  /* Python frames with line numbers */
	bool native_python; /* keep the interpreter's own frames */
	/*
	 * Gets a record of each CPU sample, launch, GPU operation, wait (if followed) and timed
	 * call; borrowed. All parts of places are to be told apart then. NULL: there is none.
	 */
	struct timeline *timeline;
};

struct collect;

/* NULL: out of memory. */
struct collect *collect_new(const struct collect_options *options);
void collect_free(struct collect *c);

/* ---- processes ---- */

/* The target, still at its gate: our own code until its exec. NULL: out of memory. */
struct process *collect_start_target(struct collect *c, pid_t pid);

/*
 * The kernel reports the whole tree of the target: others are not believed. Else any process is
 * that says hello.
 */
void collect_know_tree(struct collect *c);

/*
 * The process that the event is about, as it is now (after an exec the new one, after an exit the
 * one that may just have ended), or NULL if it is none of the target's tree.
 */
struct process *collect_process_event(struct collect *c, const struct process_event *event);

/* A process that the kernel says is of the tree, found or made; NULL: out of memory. */
struct process *collect_find_process(struct collect *c, pid_t pid);

/* How many processes of the tree run now. */
uint32_t collect_count_running(const struct collect *c);

/* The path of the file that a process has at this address; or a text in brackets. */
const char *collect_module_path(struct collect *c, struct process *process, uint64_t address);

/* A process that turned out to run Python since the last call; false: none. */
struct python_found {
	pid_t pid;
	uint32_t unknown_hex; /* not 0: of a version whose frames cannot be read */
	struct stack_python layout;
};
bool collect_next_python(struct collect *c, struct python_found *found);

/* ---- stacks from the kernel ---- */

/* A CPU sample, or with `api` the entry of a launch function by that name. */
void collect_snapshot(struct collect *c, const struct stack_snapshot *snapshot, const char *api);

/* What a code object of Python is called that stacks to come have in them. */
void collect_python_code(struct collect *c, const struct stack_python_code *code);

/* A recorded sample or launch: frames as stack_builder_addresses has them. */
void collect_addresses(struct collect *c, const struct stack_event *event, const __u64 *frames,
		       const char *api);

/* The user's part of the snapshot taken in last, innermost first: for a recording. */
const struct unwind_frame *collect_last_frames(const struct collect *c, uint32_t *count,
					       bool *is_whole);

/*
 * The entry of a timed call of `api` (a literal), with the register that leads to its kernel (or
 * -1), and its return: `event` is the return's, `start_ns` the time of the entry.
 */
void collect_call(struct collect *c, const struct stack_snapshot *snapshot, const char *api,
		  int kernel_register);
void collect_call_end(struct collect *c, const struct stack_event *event, uint64_t start_ns,
		      const char *api);

/* ---- what the target sends ---- */

/*
 * A program in the target says hello: the process that it runs in, until its goodbye. NULL: it is
 * none of the target's tree, or out of memory.
 */
struct process *collect_hello(struct collect *c, const struct gpu_event_hello *hello);

/* It says goodbye, or is known to be gone: it sends nothing more. */
void collect_goodbye(struct collect *c, struct process *process, uint64_t now_ns);

/* Any other event of it; `kernel`: the mangled name of GPU_EVENT_KERNEL, interned by collect_text.
 */
void collect_gpu_event(struct collect *c, struct process *process, const struct gpu_event *event,
		       const char *kernel);

/* A text that the target sent, kept for good; NULL: refused, there is too much. */
const char *collect_text(struct collect *c, const char *text);

/* ---- time ---- */

/* All stacks and process events up to this time have been handed in: decides what can be. */
void collect_advance(struct collect *c, uint64_t until_ns);

/* Nothing more will come, and it is `now_ns`: decides all, and closes the books. */
void collect_finish(struct collect *c, uint64_t now_ns);

/* By which whoever reads files and memory of the target does so (symbolize/bounded_call.h). */
struct bounded_caller *collect_calls(struct collect *c);

/* The run's counts: each stage adds its own. */
struct ledger *collect_ledger(struct collect *c);

/* What there is for outputs, valid until collect_free; after collect_finish. */
struct collected collect_results(struct collect *c);

#endif
