/* SPDX-License-Identifier: MIT */
/*
 * Counts everything that a run sees, joins and loses. Each stage adds to its part; the summary,
 * --strict and outputs read all parts.
 *
 * Members are numbers of things, except that _ns is time and _bytes is size. A loss is in one count
 * only. Each count has a row in ledger_counts.h.
 */
#ifndef PROFILER_MODEL_LEDGER_H
#define PROFILER_MODEL_LEDGER_H

#include <stdbool.h>
#include <stdint.h>
#include "cupti_trace/wire/work_tally.h"
#include "profiler/model/api_calls.h"
#include "profiler/model/off_cpu_kinds.h"
#include "profiler/model/timeline.h"
#include "profiler/model/untraced.h"
#include "symbolize/unwind.h"
#include "symbolize/util/hash_index.h"

/* CPU samples, and stacks copied by the kernel and unwound by the profiler. */
struct ledger_cpu {
	uint64_t samples;        /* in the profile */
	uint64_t whole;          /* `samples` unwound to the thread's start */
	uint64_t dropped;        /* lost between the kernel and the profiler */
	uint64_t in_calls;       /* ticks within timed calls, which account for the time */
	uint64_t after_end;      /* processes that outlived the command; not sampled since */
	uint64_t used_ns;        /* charged by the kernel; 0: unknown */
	uint64_t not_sampled_ns; /* `used_ns` under "[not sampled]" */
	/* samples of worker threads: below the waiting thread's stack, or with an unknown one */
	uint64_t handed, without_parent;
};

struct ledger_launches {
	uint64_t kernels;    /* calls that launch kernels or graphs */
	uint64_t with_stack; /* captured in the process; includes copies, sets, allocations */
	uint64_t by_probe;   /* stacks captured by uprobes, including nested calls */
	uint64_t whole;      /* stacks unwound to the thread's start */
	uint64_t skipped;    /* without a stack of their own, to limit overhead */
	uint64_t dropped;    /* lost launches or launch stacks */
	/*
	 * Launches of one kernel without its record. The kernel was still running when tracing of
	 * its process ended, or its record was lost unnoticed. Excludes known losses.
	 */
	uint64_t unended;
	uint64_t copies_unended;         /* copies and sets without their record */
	uint64_t graphs_unended;         /* graphs without any record; they may be empty */
	uint64_t confused;               /* another launch has their correlation id */
	uint64_t handed, without_parent; /* as in ledger_cpu */
	uint32_t probed_functions;
};

/* GPU work of one kind on one device, over all processes. */
struct gpu_row {
	uint32_t device; /* devices_key(); the device number in old captures */
	uint32_t work;   /* enum gpu_work */
	uint64_t count, ns, bytes;
	uint64_t unmatched, unmatched_ns; /* `count` and `ns` without a launch */
	uint64_t bad_times;               /* without usable timestamps: 0 ns */
	uint64_t staged;                  /* gpu_work_is_staged() */
	/* with an enum gpu_outside time */
	uint64_t before, before_ns, after, after_ns;
};

/* GPU work received through the pipe. */
struct ledger_gpu {
	uint64_t kernels, kernel_ns;
	uint64_t matched;   /* operations with a duration and a launch stack */
	uint64_t unmatched; /* operations with a duration and a launch, but no stack */
	uint64_t unmatched_ns;
	uint64_t bad_times;     /* without usable timestamps: 0 ns */
	uint64_t unseen_nodes;  /* operations of graph nodes whose creation was missed */
	uint64_t dropped;       /* by CUPTI or in the target, as reported by the target */
	uint64_t missing;       /* in the process's own totals, but not received */
	uint64_t unknown_kinds; /* CUPTI records of a kind that was not requested */
	uint64_t unwatched;     /* allocations of unified memory without tracing of migrations */
	struct gpu_row *rows;   /* by device and kind */
	uint32_t row_count, row_capacity, last_row;
	struct hash_index row_index;
	/*
	 * CUPTI's own sums by process, device, context, stream and kind, compared with the
	 * profile's
	 */
	uint64_t sums, equal;
	uint64_t unreported; /* sums of processes that reported none (killed) */
	uint64_t uncompared; /* too many to keep */
	/* first difference, if equal < sums: CUPTI's and the profile's */
	struct work_sum difference, difference_here;
	uint32_t difference_pid;
};

/* The pipe, and the processes that write to it. */
struct ledger_pipe {
	uint64_t lines;           /* except empty ones */
	uint64_t malformed;       /* ignored: not an event */
	uint64_t too_long;        /* `malformed` longer than the maximum */
	uint64_t refused;         /* from processes outside the target, or unknown senders */
	uint64_t left;            /* bytes left in the pipe when reading had to end */
	uint64_t lost_batches;    /* gaps in a process's sequence of writes */
	uint32_t processes;       /* processes that said hello */
	uint32_t without_cupti;   /* `processes` unable to trace, as their hello reports */
	uint32_t graph_time_bugs; /* `processes` with a CUPTI that gives wrong times in long
				     graph runs */
	uint32_t without_goodbye; /* ended without a goodbye */
	uint32_t killed;          /* `without_goodbye` by a signal */
	uint32_t exited;          /* `without_goodbye` by _exit or exec, or with threads that were
				     launching */
	uint64_t killed_launches; /* kernel launches without a record, in killed processes */
	uint64_t exited_launches;
	uint32_t wrong_totals;     /* processes whose sum of ns differs from the received one */
	uint32_t foreign_versions; /* processes with another protocol version; ignored */
	char first_malformed[81];
	char first_refused[81];
};

/* Calls that wait for the GPU (--waits), and calls timed for lack of GPU time. */
struct ledger_calls {
	uint64_t waits, wait_ns;
	uint64_t wait_computed_ns; /* CPU time within waiting calls; not in wait_ns */
	uint64_t cut_waits;        /* `waits` with only their last part split by operation: waits.h,
				      wait_times.h */
	uint64_t timed, timed_ns;
	uint64_t without_stack; /* `timed` with a dropped entry event */
	uint64_t unfinished;    /* `without_stack` not returned when their process ended */
	uint64_t lost;          /* not in the profile */
	uint32_t processes;     /* processes with timed calls, or to be traced */
};

struct ledger_processes {
	uint64_t lost_records; /* records of mappings, forks etc. */
	uint64_t not_followed; /* descendants beyond the limit */
	uint64_t lost_threads; /* threads without the stack that created them (--thread-origin) */
	/*
	 * Processes without a hello. `never_started` loaded the library, as the driver does in
	 * cuInit. `untraced` loaded only the driver, and may not have used the GPU. Neither is in
	 * ledger_calls.processes.
	 */
	uint64_t never_started, untraced;
	/* `untraced`, by what kept the library out */
	uint64_t unsure[UNTRACED_CAUSES];
	/*
	 * processes that used the GPU, by what kept the library out; all in ledger_calls.processes
	 */
	uint64_t causes[UNTRACED_CAUSES];
	/* runs without process records from the kernel: untraced processes may be missing here */
	uint64_t unwatched;
};

/* Work of launches without a stack of their own (--max-overhead): join/spread.h. */
struct ledger_spread {
	uint64_t operations, ns;
	uint64_t borrowed_ns;   /* `ns` with unknown error */
	uint64_t left, left_ns; /* `operations` and `ns` without a sample */
	uint64_t error_ns;      /* largest standard error of a stack */
};

/* PC samples of kernels (--stalls): addons/pc_samples.h. */
struct ledger_stalls {
	uint32_t period; /* a sample every 2^n cycles; 0: no samples */
	uint64_t taken; /* all samples, as CUPTI counts; includes the members below but `with_lines`
			 */
	uint64_t samples;         /* in kernels in the profile */
	uint64_t unmatched;       /* in functions that are no kernel in the profile */
	uint64_t with_lines;      /* `samples` and `unmatched` with a source line */
	uint64_t dropped;         /* by the hardware */
	uint64_t other;           /* in kernels that are not the program's */
	uint64_t lost;            /* for lack of room */
	uint64_t overflows;       /* overflows of the GPU's buffer; no count of samples */
	uint64_t cubins_left_out; /* cubins whose line tables are unreadable or too large */
	uint64_t split_ns;        /* kernel time split by samples */
	uint64_t unlocated;       /* `samples` without a stored instruction */
	/* --stalls=exact */
	uint64_t placed;  /* `samples` with a known launch */
	uint64_t mean_ns; /* `split_ns` in launches without samples of their own */
};

/* Time of threads on and off the CPU (--wall): cpu/off_cpu.h. */
struct ledger_wall {
	uint64_t threads, switches; /* `switches`: off a CPU */
	uint64_t stacks;            /* `switches` with a stack */
	uint64_t ran_ns;            /* on a CPU, in the profile */
	uint64_t off_ns[OFF_CPU_KINDS];
	uint64_t of_profile_ns, of_driver_ns; /* `off_ns` of threads that are not the program's */
	uint64_t spread_ns;   /* `off_ns` without a stack: spread over other stacks of the thread
			       */
	uint64_t left_ns;     /* `off_ns` under "[stack not captured]" */
	uint64_t in_calls_ns; /* off a CPU within timed calls, which account for the time: not in
				 `off_ns` */
	uint64_t lost;        /* threads whose time is missing, at least in part */
};

/* Idle time of devices (--idle), between their operations unless stated otherwise. */
struct ledger_idle {
	uint64_t devices;
	uint64_t whole_ns;            /* length of the run times `devices` */
	uint64_t off_cpu_ns;          /* the launching thread was off the CPU */
	uint64_t computing_ns;        /* the launching thread computed, by its samples */
	uint64_t launched_ns;         /* the next operation was launched, but had not begun */
	uint64_t unknown_ns;          /* the launching thread's activity is unknown */
	uint64_t before_ns, after_ns; /* before the first, after the last operation */
	uint64_t lost;                /* records for idle times that were not kept */
};

static inline uint64_t ledger_idle_ns(const struct ledger_idle *l)
{
	return l->off_cpu_ns + l->computing_ns + l->launched_ns + l->unknown_ns + l->before_ns +
	       l->after_ns;
}

#define LEDGER_NAMES_BYTES 480 /* size of a list of names */

/* Activity outside of the recorded part of the run (--delay, -d, --last, --range). */
struct ledger_outside {
	uint64_t before, before_ns; /* GPU operations with a duration that began before it */
	uint64_t after, after_ns;   /* soon after it */
	/* operations in it, launched too long before; not in `unmatched` */
	uint64_t earlier, earlier_ns;
	uint64_t calls; /* timed calls that began outside of it */
	/* launches of kernels, copies and graphs that had not ended when recording did */
	uint64_t unended;
	/* --range: number of recorded ranges; operations launched outside of them */
	uint64_t ranges, unchosen, unchosen_ns;
	uint64_t entered, only_outside; /* processes with a range; others with operations */
	/* lists of names (ranges_seen.h), not in captures: of processes, of other ranges */
	char entered_by[LEDGER_NAMES_BYTES], other_ranges[LEDGER_NAMES_BYTES];
	uint64_t not_held_ns; /* start of the last seconds (--last) that found no room */
};

/* Windows in which launches were recorded (--budget), of all processes. */
struct ledger_windows {
	uint64_t count, ns;
};

/* Launches with hardware counters, and without (--counters). */
struct ledger_counters {
	uint64_t measured; /* in the tables */
	uint64_t unplaced; /* measured, but without the kernel's record */
	/* without counters, by enum gpu_unmeasured */
	uint64_t captured, graphs, busy, peers, failed;
	uint64_t replays;  /* ignored records: replays of measured kernels */
	uint64_t unlisted; /* `measured` only in sums and not in the timeline */
};

/* Stacks with incomplete Python frames. Each distinct stack of launches counts once. */
struct ledger_python {
	uint64_t missing;     /* with the interpreter's loop, but no Python frame */
	uint64_t unread;      /* `missing` for lack of privilege */
	uint64_t unordered;   /* Python frames may be misplaced among the native ones */
	char first_file[161]; /* interpreter of the first missing one; "": none, or unknown */
};

/* Cost of the run, apart from the profiler's processes (struct totals). */
struct ledger_cost {
	uint64_t program_ns; /* CPU time of the injection library, in programs that said goodbye */
	uint64_t kernel_ns;  /* CPU time of the BPF programs that take stacks */
	uint64_t pipe_bytes;
};

/* Data dropped to stay within bounds. */
struct ledger_bounds {
	uint64_t stacks;           /* in "[too many stacks]" */
	uint64_t refused;          /* names, mappings and stacks from the target */
	uint64_t out_of_memory;    /* events lost for lack of memory */
	uint64_t programs;         /* ignored programs: more than GPU_PIPE_TRACEES_MAX */
	uint64_t allocations;      /* not followed (--alloc) */
	uint64_t late_allocations; /* too late to be in order: peaks may be wrong */
	uint64_t ranges;        /* NVTX ranges past a limit in the program: without their names */
	uint64_t folded_ranges; /* NVTX ranges with N for the numbers in their names */
	uint64_t truncated;     /* stacks cut because they were too deep or could not be unwound */
};

/*
 * Limit of all GPU operations and waits from the pipe in a run, and of CUPTI's own sums: ns (292
 * years) and bytes (8 EiB). Excess is refused. So no sum can wrap, even with CPU samples and timed
 * calls added, which the kernel measures.
 */
#define LEDGER_TOTAL_MAX (UINT64_C(1) << 63)

struct ledger_total {
	uint64_t count, ns, bytes;
};

/*
 * Stacks copied by the kernel and unwound by the profiler: samples, and launches and calls at
 * probes.
 */
struct ledger_unwound {
	uint64_t ends[UNWIND_ENDS]; /* by the end of the unwinding */
};

struct ledger {
	struct ledger_cpu cpu;
	struct ledger_unwound unwound;
	struct ledger_launches launches;
	struct ledger_gpu gpu;
	struct ledger_pipe pipe;
	struct ledger_calls calls;
	struct ledger_processes processes;
	struct ledger_bounds bounds;
	struct ledger_python python;
	struct ledger_cost cost;
	struct ledger_spread spread;
	struct ledger_stalls stalls;
	struct ledger_counters counters;
	struct ledger_wall wall;
	struct ledger_idle idle;
	struct ledger_outside outside;
	struct ledger_windows windows;
	struct ledger_total measured, reported; /* operations and waits; CUPTI's own sums */
	struct api_calls api;                   /* empty if not requested */
	struct timeline_stats timeline;         /* all 0 without a timeline */
};

/* Zero-initialise: empty. */
void ledger_release(struct ledger *ledger);

/* Returns false, adding nothing, if one of the sums would exceed LEDGER_TOTAL_MAX. */
bool ledger_total_add(struct ledger_total *total, uint64_t count, uint64_t ns, uint64_t bytes);

/* Receives a fact about a run: a name, and a text or, if `text` is NULL, a number. */
typedef void (*fact_visitor)(void *context, const char *name, const char *text, uint64_t number);

/* Adds to the row of a device and kind only. Returns false if out of memory. */
bool ledger_add_row(struct ledger *ledger, const struct gpu_row *work);

/* Adds the counts of a row to another. */
void gpu_row_add(struct gpu_row *sum, const struct gpu_row *more);

/* Multiplies what was estimated (--budget): launches and work in the profile. Each is rounded. */
void ledger_scale_estimates(struct ledger *ledger, double factor);

/* Adds work in the profile to the row of its device and kind, and to the totals. */
void ledger_add_work(struct ledger *ledger, const struct gpu_row *work);

/* Compares a process's sums of GPU work in the profile with CUPTI's, to the nanosecond and byte. */
void ledger_settle(struct ledger *ledger, uint32_t pid, const struct work_tally *counted,
		   const struct work_tally *reported);

/* Returns false if programs used CUDA, and the GPU time of all of them is unknown. */
static inline bool ledger_has_gpu_time(const struct ledger *l)
{
	return l->calls.processes == 0 || l->pipe.processes > l->pipe.without_cupti;
}

#endif
