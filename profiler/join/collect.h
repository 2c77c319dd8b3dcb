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
 *
 * Memory. The target decides how much there is to keep. Most of it counts against one budget,
 * COLLECT_MEMORY, with all that a piece costs until the profile is written: also its share of
 * indexes, and of what naming builds. Each part has a limit of its own, below; their sum would be
 * above the budget, which no real profile comes near. Whatever is refused is counted.
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
 *     waits, and operations that they may be for (waits.h: 256 Ki)      40, 96              34
 *     kernels (256 Ki) that stalls (128 Ki; warp_stalls.h) may be of         84, 64              29
 *     stacks to spread over, and what is parked (spread.h: 256 Ki)     104, 72              44
 *     allocations and releases that wait for their order (allocations.h: 512 Ki)
 *                                                                            64              32
 *     memory that is allocated, with --alloc                                 56
 *     samples of threads that work for others (async_samples.h: 256 threads)    32              17
 *     composed stacks (gpu_stack.c: 256 Ki), origins (attribution.h)       72, 44
 *     tables read from files, for call frames (symbolize/util/table_quota.h) 256 mappings of
 * processes (maps.h)                                        32              64 afterwards tables
 * read from files, for names                                                    256 the result's
 * stacks and texts, and their tree (bench_naming.c)             224
 *
 * The whole process stays below 500 MiB, and FLIGHT_RECORDER_BYTES more where the last seconds are
 * kept:
 *
 *   300  COLLECT_MEMORY
 *     3  program and libraries
 *    64  ring buffer with -launch-stacks uprobe, otherwise 32: until the end of the run (it is
 *        mapped twice in a row, and so counts twice where pages are counted by mapping)
 *    24  rings of what processes map (process_events.h; more with more than 96 CPUs)
 *    64  the old half of an index that grows
 *    24  mapped files (symbolize/util/table_quota.h: MODULES_MAX)
 *    18  65,536 programs that say hello (gpu_pipe.h)
 *   ---
 *   497  while events come in; with --otlp to a collector, up to 190 more (live_spans.h), and as
 *        long as events wait for a file that is read slowly, up to four times their ring
 *        (event_ring.h)
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
#include "symbolize/unwind.h"

#define COLLECT_MEMORY (300u << 20)
/* Texts, mappings, ids and code objects from all targets together. */
#define COLLECT_TARGET_BYTES (128u << 20)
/* Limits the part of these bytes that new names of threads and processes take; likewise the names
 * that interpreters give to threads. */
#define COLLECT_RENAME_BYTES (4u << 20)

/*
 * Frames of a stack to which the stack of a thread that works for it is added, at most: the
 * target can say of each stack that it was handed to the next, and outputs write all frames of
 * each.
 */
#define COLLECT_HANDED_FRAMES 2048u

struct collect_options {
	uint64_t sample_ns;  /* weight of a CPU sample */
	uint32_t place_mask; /* places.h: the parts that rows distinguish */
	struct measure measure;
	/*
	 * Gets a record of each CPU sample, launch, GPU operation, wait (if followed) and timed
	 * call; borrowed. Requires a full place_mask. NULL: none.
	 */
	struct timeline *timeline;
	struct timeline *idle_store; /* for idle.h; borrowed. NULL: not asked for */
	/*
	 * Not 0: only so many ns before the end are kept (profile_sink.h), in so much more memory
	 * (FLIGHT_RECORDER_BYTES). Not with measure.wall, which is of a whole run.
	 */
	uint64_t last_ns;
	/*
	 * The run is over, maybe elsewhere (a trace): processes are what they say, and nothing is
	 * looked up in /proc, where their pids may be others'.
	 */
	bool is_over;
	size_t memory_bytes, target_bytes; /* 0: COLLECT_MEMORY, COLLECT_TARGET_BYTES */
	bool watches_load;                 /* for struct collected */
	bool keeps_metrics;                /* likewise */
};

struct collect;

/* NULL: out of memory. */
struct collect *collect_new(const struct collect_options *options);
void collect_free(struct collect *c);

/*
 * The part of the run that is recorded, before the first event of it: what begins outside is
 * counted, or not at all, and used only to understand what begins inside. An operation without
 * usable times is inside.
 */
void collect_set_time_range(struct collect *c, const struct time_range *time_range);
const struct time_range *collect_time_range(const struct collect *c);

/*
 * The command begins, or is attached to: before this and after the end of the input, no device is
 * idle (--idle); and the last seconds are not from before it.
 */
void collect_begin(struct collect *c, uint64_t now_ns);

/* ---- processes ---- */

/* The target, stopped before its exec: still our own code. NULL: out of memory. */
struct process *collect_start_target(struct collect *c, pid_t pid);

/*
 * The kernel reports the whole tree of the target, so ignore other processes. Otherwise any process
 * that says hello is accepted.
 */
void collect_know_tree(struct collect *c);

/*
 * The records of a program end with its exec if its user may not look into it, as without eBPF:
 * then it counts as ended. Otherwise it goes on.
 */
void collect_lose_privileged(struct collect *c);

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

/*
 * The process that had the event's pid at its time, which may have ended or executed another
 * program since: events of processes may be taken before stacks of earlier times
 * (kernel_events_catch_up). One that is not known is made, as above. NULL: still our own code,
 * before its exec; or out of memory.
 */
struct process *collect_process_of(struct collect *c, const struct stack_event *event);

/*
 * A process that ran before us: what it did until `time_ns`, and the `used_ns` of CPU time that the
 * kernel has charged to it so far, do not count. It has so many threads; its mappings follow as
 * events. NULL: out of memory.
 */
struct process *collect_attach(struct collect *c, pid_t pid, const char *comm, uint32_t threads,
			       uint64_t time_ns, uint64_t used_ns);

/* Returns whether a process runs under this pid that is known by more than a stack. */
bool collect_knows_process(const struct collect *c, pid_t pid);

/* When the last of the processes that have ended did so; 0: none has. */
uint64_t collect_last_end(const struct collect *c);

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

/*
 * Reads the names that Python gives its threads from some of the running processes, in turn: about
 * 1 ms in each call. Called some 20 times a second, it follows threads that live for so long.
 */
void collect_read_thread_names(struct collect *c);

/* ---- stacks from the kernel ---- */

/*
 * A CPU sample, or, with `api`, the entry of the launch function of that name. False: of no process
 * of the tree; ignored.
 */
bool collect_snapshot(struct collect *c, const struct stack_snapshot *snapshot, const char *api);

/* A thread is being created by the snapshot's (--thread-origin). */
void collect_thread(struct collect *c, const struct stack_snapshot *snapshot);

/*
 * Takes where threads' time goes (--wall): a thread leaves the CPU, with its stack; it is back; it,
 * or the run, has ended at the event's time.
 */
void collect_off_cpu(struct collect *c, const struct stack_snapshot *snapshot);
void collect_on_cpu(struct collect *c, const struct stack_on_cpu *record);
void collect_thread_times(struct collect *c, const struct stack_thread_times *record);

/*
 * Returns whether the event is of a thread whose creation is not known: with --thread-origin,
 * stacks from the kernel up to now should be passed in first. Asked once of each thread.
 */
bool collect_wants_thread(struct collect *c, const struct process *process,
			  const struct gpu_event *event);

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

/* The process that had this pid then ends with this status, as wait(2) gives it. */
void collect_wait_status(struct collect *c, pid_t pid, uint64_t time_ns, int status);

/*
 * Such a process has a device of the GPU open as it ends, or not; `opened`: so many opened by
 * itself (stack_event.h).
 */
void collect_open_devices(struct collect *c, pid_t pid, uint64_t time_ns, bool has_device,
			  uint32_t opened);

/* ---- CPU time by the kernel's account (cpu_time.h) ---- */

/*
 * The process that had this pid at `time_ns`, while it ran or began to end, has used `total_ns`
 * since it began; `is_before`: until it executed its present program, else in all. It does not
 * count if the process began after the window, or its clock was read for the last time.
 */
void collect_cpu_used(struct collect *c, pid_t pid, uint64_t time_ns, uint64_t total_ns,
		      bool is_before);

/*
 * Reads the clocks of some of the running processes, in turn. `is_last`: of all, and what they use
 * from here on does not count.
 */
void collect_read_clocks(struct collect *c, uint64_t now_ns, bool is_last);

/* The window begins: reads the clocks of all, and what they have used until now does not count. */
void collect_begin_cpu_time(struct collect *c, uint64_t now_ns);

/* It is not known how much was used while something was recorded. */
void collect_forget_cpu_time(struct collect *c);

/* Takes what the kernel charged to the command and all that was waited for in its tree. */
void collect_waited_for(struct collect *c, uint64_t used_ns);

/* ---- what the target sends ---- */

/*
 * A program in the target says hello: returns its process. NULL: it is outside the target's tree,
 * or out of memory.
 */
struct process *collect_hello(struct collect *c, const struct gpu_event_hello *hello);

/* Names a process that is known from hellos alone by the program that it runs. */
void collect_name_program(struct collect *c, struct process *process, const char *program);

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

/* Counts bytes that a source keeps for the target. False: over the limit. */
bool collect_keep_bytes(struct collect *c, size_t bytes);
void collect_free_bytes(struct collect *c, size_t bytes);

/*
 * Returns whether the launch with this correlation id has come, where a part of the run is
 * recorded: those outside may not be sent. Otherwise all are.
 */
bool collect_knows_launch(const struct collect *c, const struct process *process,
			  uint32_t correlation_id);

/* Launches of kernels from that time on of which no record has come; of the last seconds alone. */
uint64_t collect_count_launched(const struct collect *c, uint64_t since_ns);

/* Returns whether a kernel is in the part that is recorded. */
bool collect_is_recorded(const struct collect *c, const struct process *process,
			 const struct gpu_event_kernel *kernel);

/* ---- time ---- */

/*
 * It is `now_ns`: where only the last seconds are kept, what is older is forgotten. To be called in
 * each round.
 */
void collect_set_time(struct collect *c, uint64_t now_ns);

/* All stacks and process events up to this time have been passed in: decides what it can. */
void collect_advance(struct collect *c, uint64_t until_ns);

/*
 * The input has ended, and it is `now_ns`: decides everything, settles all processes, and frees
 * what results do not need. The last seconds are those before the end of the window, if it has one,
 * else before now; collect_time_range then says which they are. Nothing may be passed in
 * afterwards; a second call has no effect.
 */
void collect_finish(struct collect *c, uint64_t now_ns);

/* For reading files and memory of the target with a time limit (symbolize/util/bounded_call.h). */
struct bounded_caller *collect_calls(struct collect *c);

/* As symbolizer_set_memory_opener. */
void collect_set_memory_opener(struct collect *c, int (*open)(void *context, pid_t pid),
			       void *context);

/* As symbolizer_set_kallsyms: kernel functions are looked up during the run, too. */
void collect_set_kallsyms(struct collect *c, int fd);

/* The run's counts; each stage adds its own. */
struct ledger *collect_ledger(struct collect *c);

/*
 * The results for outputs, after collect_finish; valid until collect_free. Before, what there is so
 * far; valid until the next event.
 */
struct collected collect_results(struct collect *c);

#endif
