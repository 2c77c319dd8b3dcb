/* SPDX-License-Identifier: MIT */
/*
 * Builds the profile from the events of a run, without descriptors or children of its own.
 *
 *   process events       -> processes, their mappings
 *   stacks               -> unwound -> CPU rows, timed calls
 *   events of the target -> stacks, graph nodes
 *                        -> launches, operations -> join -> attribution -> GPU rows
 *
 * Sources pass in one event at a time. Everything added to a row is also recorded in the timeline,
 * if there is one.
 *
 * Stacks are located in the address space of their time. So the caller passes process events and
 * stacks in order of time. Events of the pipe come in the order in which each process wrote them.
 * Tests replay recorded streams in these orders.
 *
 * Processes outside the target's tree are ignored. Times are CLOCK_MONOTONIC in ns.
 *
 * Memory. The target decides how much there is to keep. Most of it is charged to one quota,
 * COLLECT_MEMORY, with its full cost until the profile is written: also its share of indexes, and
 * of the tables for naming. Each part has a limit of its own, below. The sum of the limits is above
 * the quota, but no real profile comes near. Refusals are counted.
 *
 *   until the profile is written                                   each, bytes    at most, MiB
 *     stacks (stack_table.h: 2 Mi)                                          52             104
 *     their frames                                                         256
 *     rows (profile.h: 512 Ki)                                             112              56
 *     memory by stack (allocations.c: 1 Mi), calls by function (4096)   112, 2840
 *     places (places.h: 256 Ki), names of processes and threads          52, 48
 *     texts, ids, mappings, code objects, creations and times of threads
 *       from the target                                                                    128
 *   while events come in
 *     launches that may have operations (join.h: 5 million)                 64             305
 *     operations without a launch (join.h: 1 million)                      128             122
 *     graph nodes (1 Mi) and graphs (128 Ki; graph_nodes.h)            60, 128              76
 *     waits, and operations that may end them (waits.h: 256 Ki)         40, 96              34
 *     kernels (256 Ki) that stalls (128 Ki; warp_stalls.h) may be of    84, 64              29
 *     stacks to distribute work over, and parked work (spread.h: 256 Ki)
 *                                                                      104, 72              44
 *     allocations and releases that wait for their order (allocations.h: 512 Ki)
 *                                                                           64              32
 *     live allocations, with --alloc                                        56
 *     samples of async workers (async_samples.h: 256 threads)               32              17
 *     composed stacks (gpu_stack.c: 256 Ki), origins (attribution.h)    72, 44
 *     tables read from files, for call frames (symbolize/util/table_quota.h)               256
 *     mappings of processes (maps.h)                                        32              64
 *   afterwards
 *     tables read from files, for names                                                    256
 *     the result's stacks and texts, and their tree (bench_naming.c)       224
 *
 * The whole process stays below 500 MiB, and FLIGHT_RECORDER_BYTES more with --last:
 *
 *   300  COLLECT_MEMORY
 *     3  program and libraries
 *    64  ring buffer with -launch-stacks uprobe, otherwise 32, until the end of the run. The ring
 * is mapped twice in a row, and so counts twice where pages are counted by mapping. 24  rings of
 * mappings (process_events.h; more with more than 96 CPUs) 64  the old half of an index that grows
 *    24  mapped files (symbolize/util/table_quota.h: MODULES_MAX)
 *    18  65,536 programs that say hello (gpu_pipe.h)
 *   ---
 *   497  while events come in. With --otlp to a collector up to 190 more (live_spans.h). While
 * events wait for a slow file, up to four times their ring more (event_ring.h).
 *
 *   300  COLLECT_MEMORY
 *     3  program and libraries
 *    72  names of code, and of inlined functions (symbolize/util/table_quota.h: NAMES_MAX_)
 *    24  mapped files
 *    40  the kernel's symbols
 *   ---
 *   439  afterwards
 */
#ifndef PROFILER_JOIN_COLLECT_H
#define PROFILER_JOIN_COLLECT_H

#include <stdbool.h>
#include <stdint.h>
#include "bpf/stack_event.h"
#include "cupti_trace/wire/gpu_event.h"
#include "cupti_trace/wire/time_range.h"
#include "profiler/base/measure.h"
#include "profiler/cpu/process_event.h"
#include "profiler/cpu/processes.h"
#include "profiler/model/collected.h"
#include "profiler/model/gpu_state.h"
#include "symbolize/unwind.h"

#define COLLECT_MEMORY (300u << 20)
/* Quota of texts, mappings, ids and code objects of all targets. */
#define COLLECT_TARGET_BYTES (128u << 20)
/*
 * Part of COLLECT_TARGET_BYTES for new names of threads and processes. Interpreters' names of
 * threads have another part of this size.
 */
#define COLLECT_RENAME_BYTES (4u << 20)

/*
 * Limit of frames in an owner's stack, below which stacks of an async worker are put. The target
 * could chain owners endlessly, and outputs write all frames of each stack.
 */
#define COLLECT_HANDED_FRAMES 2048u

struct collect_options {
	uint64_t sample_ns;  /* weight of a CPU sample, ns */
	uint32_t place_mask; /* parts of places that rows distinguish (places.h) */
	struct measure measure;
	/*
	 * Timeline for a record of each CPU sample, launch, GPU operation, wait (if followed) and
	 * timed call; borrowed. Requires a full place_mask. NULL: none.
	 */
	struct timeline *timeline;
	struct timeline *idle_store; /* store of idle.h; borrowed. NULL: not requested */
	/*
	 * Keep only the last so many ns (profile_sink.h), in FLIGHT_RECORDER_BYTES more memory; 0:
	 * everything. Not with measure.wall, which needs a whole run.
	 */
	uint64_t last_ns;
	bool takes_turns; /* --every: results of so many ns, one after the other (collect_take) */
	/*
	 * The run is over, maybe elsewhere (a trace). Processes are described by their events
	 * alone. Nothing is looked up in /proc, where their pids may be other processes'.
	 */
	bool is_over;
	size_t memory_bytes, target_bytes; /* 0: COLLECT_MEMORY, COLLECT_TARGET_BYTES */
	bool watches_load;                 /* provide the GPU load in struct collected */
	bool keeps_metrics;                /* provide metrics in struct collected */
	bool draws_off_cpu; /* records of times off the CPU that ON_CPU reports (--wall) */
};

struct collect;

/* Creates a collector. Returns NULL if memory is exhausted. */
struct collect *collect_new(const struct collect_options *options);
void collect_free(struct collect *c);

/*
 * Sets the recorded time range, before its first event. What begins outside is counted or ignored,
 * and only helps to interpret what begins inside. An operation without usable times is inside.
 */
void collect_set_time_range(struct collect *c, const struct time_range *time_range);
const struct time_range *collect_time_range(const struct collect *c);

/*
 * Notes that the command begins, or is attached to. Before this and after the end of the input, no
 * device is idle (--idle). The last seconds do not reach before it.
 */
void collect_begin(struct collect *c, uint64_t now_ns);

/* ---- processes ---- */

/*
 * Adds the target, stopped before its exec: still our own code. Returns NULL if memory is
 * exhausted.
 */
struct process *collect_start_target(struct collect *c, pid_t pid);

/*
 * Declares that the kernel reports the target's whole tree, so that other processes are ignored.
 * Otherwise any process that says hello is accepted.
 */
void collect_know_tree(struct collect *c);

/*
 * Declares that records of a program end with its exec if its user may not inspect it, as without
 * eBPF: then it counts as ended. Otherwise it goes on.
 */
void collect_lose_privileged(struct collect *c);

/*
 * Declares that GPU work is traced. A process that initializes CUDA loads `library` (borrowed; only
 * its file name counts) and says hello. A process that loads it, or the CUDA driver, without a
 * hello is counted when it is finalized. `nvtx`: NVTX loads the library too, so loading alone
 * proves nothing.
 */
void collect_expect_hellos(struct collect *c, const char *library, bool nvtx);

/*
 * Processes an event. Returns its process after the event: after an exec the new one, after an exit
 * the one that may have ended. Returns NULL outside the target's tree.
 */
struct process *collect_process_event(struct collect *c, const struct process_event *event);

/*
 * Finds or adds a process that the kernel reports as part of the tree. Returns NULL if memory is
 * exhausted.
 */
struct process *collect_find_process(struct collect *c, pid_t pid);

/*
 * Returns the process that had the event's pid at its time, adding it if unknown. It may have ended
 * or executed another program since: process events may come before stacks of earlier times
 * (kernel_events_catch_up). Returns NULL for our own code before the exec, or if memory is
 * exhausted.
 */
struct process *collect_process_of(struct collect *c, const struct stack_event *event);

/*
 * Adds a process that is attached to. Its past until `time_ns`, and the CPU time `used_ns` charged
 * so far, do not count. It has `threads` threads. Its mappings follow as events. Returns NULL if
 * memory is exhausted.
 */
struct process *collect_attach(struct collect *c, pid_t pid, const char *comm, uint32_t threads,
			       uint64_t time_ns, uint64_t used_ns);

/* Returns true if a process with this pid is known by more than a stack. */
bool collect_knows_process(const struct collect *c, pid_t pid);

/* Returns the time of the last end of a process, or 0. */
uint64_t collect_last_end(const struct collect *c);

/* Returns the number of running processes of the tree. */
uint32_t collect_count_running(const struct collect *c);

/* Returns the path of the file mapped at this address, or a text in brackets. */
const char *collect_module_path(struct collect *c, struct process *process, uint64_t address);

/* Returns the next process found to run Python. Returns false if there is none. */
struct python_found {
	pid_t pid;
	uint32_t unknown_hex; /* version whose frames cannot be read; 0: known version */
	struct stack_python layout;
};
bool collect_next_python(struct collect *c, struct python_found *found);

/*
 * Reads Python's names of threads from some running processes, in turn, for about 1 ms. Called some
 * 20 times a second, it catches threads that live for 50 ms.
 */
void collect_read_thread_names(struct collect *c);

/* ---- stacks from the kernel ---- */

/*
 * Takes a CPU sample, or, with `api`, the entry of that launch function. Returns false and ignores
 * it outside the tree.
 */
bool collect_snapshot(struct collect *c, const struct stack_snapshot *snapshot, const char *api);

/* Takes the stack of a thread that creates another one (--thread-origin). */
void collect_thread(struct collect *c, const struct stack_snapshot *snapshot);

/*
 * Take the whereabouts of threads (--wall): a thread leaves the CPU, with its stack; is back on the
 * CPU; or the thread, or the run, has ended at the event's time.
 */
void collect_off_cpu(struct collect *c, const struct stack_snapshot *snapshot);
void collect_on_cpu(struct collect *c, const struct stack_on_cpu *record);
void collect_thread_times(struct collect *c, const struct stack_thread_times *record);

/*
 * Returns true, once per thread, for an event of a thread whose creation is unknown. With
 * --thread-origin, pass in kernel stacks up to now first.
 */
bool collect_wants_thread(struct collect *c, const struct process *process,
			  const struct gpu_event *event);

/* Takes the name of a Python code object, which later stacks refer to. */
void collect_python_code(struct collect *c, const struct stack_python_code *code);

/* Takes a recorded sample or launch, with frames as in stack_builder_addresses. */
void collect_addresses(struct collect *c, const struct stack_event *event, const __u64 *frames,
		       const char *api);

/* Returns the user part of the last snapshot, innermost first, for a recording. */
const struct unwind_frame *collect_last_frames(const struct collect *c, uint32_t *count,
					       bool *is_whole);

/*
 * Take the entry and the return of a timed call of `api` (a literal). `kernel_register` holds its
 * kernel, or is -1. For the return, `event` is its own, and `start_ns` is the time of the entry.
 */
void collect_call(struct collect *c, const struct stack_snapshot *snapshot, const char *api,
		  int kernel_register);
void collect_call_end(struct collect *c, const struct stack_event *event, uint64_t start_ns,
		      const char *api);

/* Notes that the process with this pid at that time ends with this status of wait(2). */
void collect_wait_status(struct collect *c, pid_t pid, uint64_t time_ns, int status);

/*
 * Notes whether that process has a GPU device open at its end. `opened`: number of devices that it
 * opened itself (stack_event.h).
 */
void collect_open_devices(struct collect *c, pid_t pid, uint64_t time_ns, bool has_device,
			  uint32_t opened);

/* ---- CPU time by the kernel's account (cpu_time.h) ---- */

/*
 * Notes that the process with this pid at `time_ns` has used `total_ns` of CPU time since it began.
 * `is_before`: until it executed its present program; otherwise in all. Ignored if the process
 * began after the time range, or after the final reading of its clock.
 */
void collect_cpu_used(struct collect *c, pid_t pid, uint64_t time_ns, uint64_t total_ns,
		      bool is_before);

/*
 * Reads the clocks of some running processes, in turn. `is_last`: reads all, and ignores later CPU
 * time.
 */
void collect_read_clocks(struct collect *c, uint64_t now_ns, bool is_last);

/* Starts the time range: reads all clocks, and discards the CPU time so far. */
void collect_begin_cpu_time(struct collect *c, uint64_t now_ns);

/* Declares the CPU time of the recorded part unknown. */
void collect_forget_cpu_time(struct collect *c);

/*
 * Takes the CPU time that the kernel charged to the command and all processes waited for in its
 * tree.
 */
void collect_waited_for(struct collect *c, uint64_t used_ns);

/* ---- what the target sends ---- */

/*
 * Takes a program's hello. Returns its process, or NULL outside the target's tree or if memory is
 * exhausted.
 */
struct process *collect_hello(struct collect *c, const struct gpu_event_hello *hello);

/* Names a process known only from its hello by the program that it runs. */
void collect_name_program(struct collect *c, struct process *process, const char *program);

/* Notes that a program sends nothing more: it said goodbye, or is gone. */
void collect_goodbye(struct collect *c, struct process *process, uint64_t now_ns);

/*
 * Takes any other event of the program. `kernel` is the mangled name of GPU_EVENT_KERNEL, interned
 * by collect_text.
 */
void collect_gpu_event(struct collect *c, struct process *process, const struct gpu_event *event,
		       const char *kernel);

/* Takes a reading of a GPU. `gpu` is device_uuid(), interned by collect_text. */
void collect_gpu_state(struct collect *c, const char *gpu, const struct gpu_reading *reading);

/* Keeps a text of the target until collect_free. Returns NULL over the quota. */
const char *collect_text(struct collect *c, const char *text);

/* Returns the quota for data that sources keep for the target. */
struct quota *collect_target_quota(struct collect *c);

/*
 * Returns true if the launch with this correlation id has come, or all launches count. Launches
 * outside a recorded part may not be sent.
 */
bool collect_knows_launch(const struct collect *c, const struct process *process,
			  uint32_t correlation_id);

/*
 * Calls join_may_be_running for the recorded part, which is over. Kernels' own launches expect no
 * record here: see gpu_pipe_waiting.
 */
bool collect_awaits_records(const struct collect *c);

/* Returns the number of kernel launches since that time without a record. With --last only. */
uint64_t collect_count_launched(const struct collect *c, uint64_t since_ns);

/* Returns true if a kernel is in the recorded part. */
bool collect_is_recorded(const struct collect *c, const struct process *process,
			 const struct gpu_event_kernel *kernel);

/* ---- time ---- */

/* Drops items older than the last seconds with --last. Called in each round. */
void collect_set_time(struct collect *c, uint64_t now_ns);

/*
 * Decides launches and samples, knowing that all stacks and process events up to this time have
 * been passed in.
 */
void collect_advance(struct collect *c, uint64_t until_ns);

/*
 * Ends the input at `now_ns`: decides everything, finalizes all processes, and frees what results
 * do not need. The last seconds end with the time range, if it has an end, else now. Then
 * collect_time_range returns them. Nothing may be passed in afterwards; a second call has no
 * effect.
 */
void collect_finish(struct collect *c, uint64_t now_ns);

/*
 * Returns the caller that reads files and memory of the target with a timeout
 * (symbolize/util/bounded_call.h).
 */
struct bounded_caller *collect_calls(struct collect *c);

/* Calls symbolizer_set_memory_opener. */
void collect_set_memory_opener(struct collect *c, int (*open)(void *context, pid_t pid),
			       void *context);

/* Calls symbolizer_set_kernel_names. */
void collect_set_kernel_names(struct collect *c,
			      int (*find)(void *context, uint64_t address, char *name, size_t size),
			      void *context);

/* Calls symbolizer_set_kallsyms: kernel functions are looked up during the run, too. */
void collect_set_kallsyms(struct collect *c, int fd);

/* Returns the run's counts, to which each stage adds. */
struct ledger *collect_ledger(struct collect *c);

/*
 * Returns the results for outputs after collect_finish, valid until collect_free. Before that,
 * returns the results so far, valid until the next event.
 */
struct collected collect_results(struct collect *c);

/*
 * Notes that a copy completes a result of --every, of what began before `until_ns`. `ledger` is the
 * ledger of now, with the kernel's counts.
 */
void collect_note_copy(struct collect *c, uint64_t until_ns, const struct ledger *ledger);

/* Ends that result, which is written: the next one has the rest. */
void collect_take(struct collect *c);

/* In that copy: takes nothing more, since the next result has what is still undecided. */
void collect_close(struct collect *c);

/* After collect_finish: subtracts the losses of earlier results of --every. */
void collect_discount_taken(struct collect *c);

#endif
