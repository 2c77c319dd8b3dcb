/* SPDX-License-Identifier: MIT */
/*
 * The data side of a run, without descriptors or children: takes events from the sources one at a
 * time, and builds the profile.
 *
 *   process events       -> processes, their mappings
 *   stacks               -> unwound -> CPU rows, timed calls
 *   events of the target -> stacks, graph nodes
 *                        -> launches, operations -> join -> attribution -> GPU rows
 *
 * Whatever is added to a row is also recorded in the timeline, if there is one.
 *
 * Stacks are located in the address space at the time they were taken, so the caller passes process
 * events and stacks in order of time. Events of the pipe come in the order in which each process
 * wrote them. Tests replay recorded streams the same way.
 *
 * Processes outside the target's tree are ignored. Times are CLOCK_MONOTONIC in ns.
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
	uint64_t sample_ns;  /* weight of a CPU sample */
	uint32_t place_mask; /* places.h: the parts that rows distinguish */
	bool follows_waits;
	bool describes_devices;
	bool python_lines;  /* Python frames with line numbers */
	bool native_python; /* keep the interpreter's own frames */
	/*
	 * Gets a record of each CPU sample, launch, GPU operation, wait (if followed) and timed
	 * call; borrowed. Requires a full place_mask. NULL: none.
	 */
	struct timeline *timeline;
};

struct collect;

/* NULL: out of memory. */
struct collect *collect_new(const struct collect_options *options);
void collect_free(struct collect *c);

/* ---- processes ---- */

/* The target, stopped before its exec: still our own code. NULL: out of memory. */
struct process *collect_start_target(struct collect *c, pid_t pid);

/*
 * The kernel reports the whole tree of the target, so ignore other processes. Otherwise any process
 * that says hello is accepted.
 */
void collect_know_tree(struct collect *c);

/*
 * GPU work is traced: a process that initializes CUDA loads `library` (borrowed; only its file name
 * counts) and says hello. One that loads it, or the CUDA driver, and never says hello is counted
 * when it is settled. `nvtx`: NVTX loads the library too, so that it alone shows nothing.
 */
void collect_expect_hellos(struct collect *c, const char *library, bool nvtx);

/*
 * The process of the event, after the event (after an exec the new one, after an exit the one that
 * may have just ended); NULL if it is outside the target's tree.
 */
struct process *collect_process_event(struct collect *c, const struct process_event *event);

/* Finds or creates a process that the kernel reports as part of the tree; NULL: out of memory. */
struct process *collect_find_process(struct collect *c, pid_t pid);

/* The number of processes of the tree that are running. */
uint32_t collect_count_running(const struct collect *c);

/* The path of the file that a process maps at this address, or a text in brackets. */
const char *collect_module_path(struct collect *c, struct process *process, uint64_t address);

/* The next process found to run Python; false: none. */
struct python_found {
	pid_t pid;
	uint32_t unknown_hex; /* not 0: a version whose frames cannot be read */
	struct stack_python layout;
};
bool collect_next_python(struct collect *c, struct python_found *found);

/* ---- stacks from the kernel ---- */

/*
 * A CPU sample, or, with `api`, the entry of the launch function of that name. False: of no process
 * of the tree; ignored.
 */
bool collect_snapshot(struct collect *c, const struct stack_snapshot *snapshot, const char *api);

/* The name of a Python code object that later stacks refer to. */
void collect_python_code(struct collect *c, const struct stack_python_code *code);

/* A recorded sample or launch: frames as in stack_builder_addresses. */
void collect_addresses(struct collect *c, const struct stack_event *event, const __u64 *frames,
		       const char *api);

/* The user part of the last snapshot, innermost first, for a recording. */
const struct unwind_frame *collect_last_frames(const struct collect *c, uint32_t *count,
					       bool *is_whole);

/*
 * The entry of a timed call of `api` (a literal), with the register that holds its kernel (or -1),
 * and its return: `event` belongs to the return, `start_ns` is the time of the entry.
 */
void collect_call(struct collect *c, const struct stack_snapshot *snapshot, const char *api,
		  int kernel_register);
void collect_call_end(struct collect *c, const struct stack_event *event, uint64_t start_ns,
		      const char *api);

/* ---- what the target sends ---- */

/*
 * A program in the target says hello: returns its process. NULL: it is outside the target's tree,
 * or out of memory.
 */
struct process *collect_hello(struct collect *c, const struct gpu_event_hello *hello);

/* The program says goodbye, or is known to be gone: it sends nothing more. */
void collect_goodbye(struct collect *c, struct process *process, uint64_t now_ns);

/*
 * Any other event of the program; `kernel`: the mangled name of GPU_EVENT_KERNEL, interned by
 * collect_text.
 */
void collect_gpu_event(struct collect *c, struct process *process, const struct gpu_event *event,
		       const char *kernel);

/* A text from the target, kept until collect_free; NULL: over the limit. */
const char *collect_text(struct collect *c, const char *text);

/* ---- time ---- */

/* All stacks and process events up to this time have been passed in: decides what it can. */
void collect_advance(struct collect *c, uint64_t until_ns);

/* The input has ended, and it is `now_ns`: decides everything, and settles all processes. */
void collect_finish(struct collect *c, uint64_t now_ns);

/* For reading files and memory of the target with a time limit (symbolize/bounded_call.h). */
struct bounded_caller *collect_calls(struct collect *c);

/* The run's counts; each stage adds its own. */
struct ledger *collect_ledger(struct collect *c);

/* The results for outputs, after collect_finish; valid until collect_free. */
struct collected collect_results(struct collect *c);

#endif
