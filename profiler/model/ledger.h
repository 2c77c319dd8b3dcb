/* SPDX-License-Identifier: MIT */
/*
 * All counts of a run: what was seen, joined and lost. Each stage adds to its own part; the
 * summary, --strict and outputs read them all.
 *
 * These are counts of things, except for names that end in _ns or _bytes. A loss is in one count
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

/* CPU samples, and stacks that were copied and unwound by the profiler. */
struct ledger_cpu {
	uint64_t samples;        /* in the profile */
	uint64_t whole;          /* of these, unwound to the thread's start */
	uint64_t dropped;        /* lost between the kernel and us */
	uint64_t in_calls;       /* ticks within timed calls, which account for the time */
	uint64_t after_end;      /* processes that outlived the command, no longer sampled */
	uint64_t used_ns;        /* charged by the kernel; 0: not known */
	uint64_t not_sampled_ns; /* of it, under "[not sampled]" */
	/* of threads that work for others: below the stack of the one that waits, or not known */
	uint64_t handed, without_parent;
};

struct ledger_launches {
	uint64_t kernels;    /* calls that launch kernels or graphs */
	uint64_t with_stack; /* captured in the process; also of calls that copy, set or allocate */
	uint64_t by_probe;   /* stacks captured by uprobes, including nested calls */
	uint64_t whole;      /* of both, unwound to the thread's start */
	uint64_t skipped;    /* without a stack of their own, for the time it takes */
	uint64_t dropped;    /* lost launches or launch stacks */
	/*
	 * Launches of one kernel whose record never came: the kernel was still running when tracing
	 * of its process ended, or its record was lost unnoticed. Excludes known losses.
	 */
	uint64_t unended;
	uint64_t copies_unended;         /* copies and sets, likewise */
	uint64_t graphs_unended;         /* of graphs, which may have been empty */
	uint64_t confused;               /* their work may be another's, which has the same id */
	uint64_t handed, without_parent; /* as in ledger_cpu */
	uint32_t probed_functions;
};

/* GPU work of one kind on devices with one number, over all processes. */
struct gpu_row {
	uint32_t device; /* devices_key(); in a capture of before, its number */
	uint32_t work;   /* enum gpu_work */
	uint64_t count, ns, bytes;
	uint64_t unmatched, unmatched_ns; /* of these, without a launch */
	uint64_t bad_times;               /* no usable timestamps: 0 ns */
	uint64_t staged;                  /* gpu_work_is_staged() */
	/* by the enum gpu_outside of their times */
	uint64_t before, before_ns, after, after_ns;
};

/* GPU work, as received through the pipe. */
struct ledger_gpu {
	uint64_t kernels, kernel_ns;
	uint64_t matched;   /* operations with a duration and the stack of their launch */
	uint64_t unmatched; /* operations with a duration and a launch, but no stack */
	uint64_t unmatched_ns;
	uint64_t bad_times;     /* without usable timestamps: 0 ns */
	uint64_t unseen_nodes;  /* of graph nodes whose creation was not seen */
	uint64_t dropped;       /* by CUPTI or in the target, as the target reported */
	uint64_t missing;       /* sent according to the process's own totals, but not received */
	uint64_t unknown_kinds; /* CUPTI records of a kind that was not requested */
	uint64_t unwatched;   /* allocations of unified memory, whose migrations nobody asked for */
	struct gpu_row *rows; /* by device and kind */
	uint32_t row_count, row_capacity, last_row;
	struct hash_index row_index;
	/* CUPTI's own sums by process, device, context, stream and kind, against ours */
	uint64_t sums, equal;
	uint64_t unreported; /* sums of processes that reported none (killed) */
	uint64_t uncompared; /* because there are too many to keep apart */
	/* the first difference, if equal < sums */
	struct work_sum difference, difference_here;
	uint32_t difference_pid;
};

/* The pipe, and the processes that write to it. */
struct ledger_pipe {
	uint64_t lines;           /* all except empty ones */
	uint64_t malformed;       /* not an event: ignored */
	uint64_t too_long;        /* of these, longer than the maximum */
	uint64_t refused;         /* from processes outside the target, or unknown senders */
	uint64_t left;            /* bytes left in the pipe when reading had to end */
	uint64_t lost_batches;    /* gaps in a process's sequence of writes */
	uint32_t processes;       /* that said hello */
	uint32_t without_cupti;   /* of these, reported by their hello as untraceable */
	uint32_t graph_time_bugs; /* of these, whose CUPTI gives wrong times in long graph runs */
	uint32_t without_goodbye; /* ended otherwise */
	uint32_t killed;          /* of these, by a signal */
	uint32_t exited;          /* of these, by _exit or exec, or with threads that launched */
	uint64_t killed_launches; /* of kernels, by these processes, without a record */
	uint64_t exited_launches;
	uint32_t wrong_totals;     /* whose sum of ns differs from what was received */
	uint32_t foreign_versions; /* with another protocol version; ignored */
	char first_malformed[81];
	char first_refused[81];
};

/* Calls that waited for the GPU (--waits), and calls timed for lack of GPU time. */
struct ledger_calls {
	uint64_t waits, wait_ns;
	uint64_t wait_computed_ns; /* in these calls, which is CPU time and not in wait_ns */
	uint64_t cut_waits;        /* of these, only the last part is split by operation: waits.h,
				      wait_times.h */
	uint64_t timed, timed_ns;
	uint64_t without_stack; /* of the timed ones, those whose entry was dropped */
	uint64_t unfinished;    /* of these, those that lasted until their process ended */
	uint64_t lost;          /* not in the profile */
	uint32_t processes;     /* whose calls were timed, or that were to be traced */
};

struct ledger_processes {
	uint64_t lost_records; /* of mappings, forks and the like */
	uint64_t not_followed; /* descendants beyond the limit */
	uint64_t lost_threads; /* without the stack that created them (--thread-origin) */
	/*
	 * Without a hello. The first loaded our library, as the driver does in cuInit. The others
	 * loaded the driver alone, and it is not known whether they used the GPU. Neither is in
	 * ledger_calls.processes.
	 */
	uint64_t never_started, untraced;
	/* `untraced`, by what kept the library out */
	uint64_t unsure[UNTRACED_CAUSES];
	/* those that used it, by what kept the library out; all in ledger_calls.processes */
	uint64_t causes[UNTRACED_CAUSES];
	/* runs of which the kernel reported no processes: what was not traced may be unknown */
	uint64_t unwatched;
};

/* Work of launches without a stack of their own (--max-overhead): join/spread.h. */
struct ledger_spread {
	uint64_t operations, ns;
	uint64_t borrowed_ns;   /* of it, what no error is known of */
	uint64_t left, left_ns; /* of it, that no sample was found for */
	uint64_t error_ns;      /* the greatest standard error of a stack */
};

/* PC samples of kernels (--stalls): addons/pc_samples.h. */
struct ledger_stalls {
	uint32_t period;          /* one every 2^n cycles; 0: none came */
	uint64_t taken;           /* with all that follow but `with_lines`, as CUPTI counts */
	uint64_t samples;         /* of kernels in the profile */
	uint64_t unmatched;       /* of functions that are no kernel in the profile */
	uint64_t with_lines;      /* of both, with a source line */
	uint64_t dropped;         /* by the hardware */
	uint64_t other;           /* of kernels that are not the program's */
	uint64_t lost;            /* for lack of room */
	uint64_t overflows;       /* of the GPU's buffer; no count of samples */
	uint64_t cubins_left_out; /* whose line tables could not be read, or are too large */
	uint64_t split_ns;        /* kernel time that is split by samples */
	uint64_t unlocated;       /* of `samples`, those whose instruction was not kept */
	/* --stalls=exact */
	uint64_t placed;  /* of `samples`, those whose launch is known */
	uint64_t mean_ns; /* of `split_ns`, of launches without samples of their own */
};

/* Where the time of threads went (--wall): cpu/off_cpu.h. */
struct ledger_wall {
	uint64_t threads, switches; /* how often they left a CPU */
	uint64_t stacks;            /* of these, with a stack */
	uint64_t ran_ns;            /* on a CPU, in the profile */
	uint64_t off_ns[OFF_CPU_KINDS];
	uint64_t of_profile_ns, of_driver_ns; /* of that: threads that are not the program's */
	uint64_t spread_ns; /* of it, without a stack: over other stacks of the thread */
	uint64_t left_ns;   /* of it, under "[stack not captured]" */
	uint64_t
		in_calls_ns; /* off a CPU within timed calls, which account for it: not in off_ns */
	uint64_t lost;       /* threads without their time in the profile, or a part of it */
};

/* When devices were idle (--idle), between their operations unless it says otherwise. */
struct ledger_idle {
	uint64_t devices;
	uint64_t whole_ns;            /* the run, once for each of them */
	uint64_t off_cpu_ns;          /* the launching thread was off the CPU */
	uint64_t computing_ns;        /* it computed, by its samples */
	uint64_t launched_ns;         /* the operation was launched, and had not begun */
	uint64_t unknown_ns;          /* what the thread did is not known */
	uint64_t before_ns, after_ns; /* before their first operation, after their last one */
	uint64_t lost;                /* records of this that were not kept */
};

static inline uint64_t ledger_idle_ns(const struct ledger_idle *l)
{
	return l->off_cpu_ns + l->computing_ns + l->launched_ns + l->unknown_ns + l->before_ns +
	       l->after_ns;
}

#define LEDGER_NAMES_BYTES 480 /* of a list of names */

/* What was seen of the run outside of the part that is recorded (--delay, -d, --last, --range). */
struct ledger_outside {
	uint64_t before, before_ns; /* GPU operations with a duration that began before it */
	uint64_t after, after_ns;   /* that began soon after it */
	/* of those that began in it, launched too long before; not among the unmatched */
	uint64_t earlier, earlier_ns;
	uint64_t calls; /* timed calls that did not begin in it */
	/* launches of kernels, copies and graphs that had not ended when recording did */
	uint64_t unended;
	/* with --range: how often what is recorded began; operations launched outside of that */
	uint64_t ranges, unchosen, unchosen_ns;
	uint64_t entered, only_outside; /* processes that entered one; others with operations */
	/* lists of names (ranges_seen.h), not in captures: of processes, of other ranges */
	char entered_by[LEDGER_NAMES_BYTES], other_ranges[LEDGER_NAMES_BYTES];
	uint64_t not_held_ns; /* of the last seconds (--last): their begin, for lack of room */
};

/* Launches whose hardware counters were read, or not (--metrics). */
struct ledger_counters {
	uint64_t measured; /* and are in the tables */
	uint64_t unplaced; /* read, but the kernel's record did not come */
	/* as in enum gpu_unmeasured */
	uint64_t captured, graphs, busy, peers, failed;
	uint64_t replays;  /* records that were left out: of further runs of measured kernels */
	uint64_t unlisted; /* of the measured: in sums alone, not in the timeline */
};

/* Stacks that are not counted as whole. Of launches each distinct stack counts once. */
struct ledger_python {
	uint64_t missing;     /* the interpreter's loop is there, but no Python frame */
	uint64_t unread;      /* of these: for want of privilege */
	uint64_t unordered;   /* Python frames may not be where they belong among the native ones */
	char first_file[161]; /* the interpreter of the first; "": none, or not known */
};

/* What the run itself cost, apart from the profiler's processes (struct totals). */
struct ledger_cost {
	uint64_t program_ns; /* CPU time of the injection library, in programs that said goodbye */
	uint64_t kernel_ns;  /* of the BPF programs that take stacks */
	uint64_t pipe_bytes;
};

/* Data dropped to stay within bounds. */
struct ledger_bounds {
	uint64_t stacks;           /* under "[too many stacks]" */
	uint64_t refused;          /* names, mappings and stacks from the target */
	uint64_t out_of_memory;    /* events lost for lack of memory */
	uint64_t programs;         /* that nothing is known of: more than GPU_PIPE_TRACEES_MAX */
	uint64_t allocations;      /* not followed (--alloc) */
	uint64_t late_allocations; /* too late to be in their order: peaks may be wrong */
	uint64_t ranges;           /* of NVTX, past a limit in the program: not by their names */
	uint64_t folded_ranges;    /* of NVTX, with N for the numbers in their names */
	uint64_t truncated; /* stacks cut because they were too deep or could not be unwound */
};

/*
 * What GPU operations and waits from the pipe may add up to in a run, in ns (292 years) and in
 * bytes (8 EiB); likewise CUPTI's own sums. What is beyond is refused, so that no sum of them can
 * wrap, not even with CPU samples and timed calls added, which the kernel measures.
 */
#define LEDGER_TOTAL_MAX (UINT64_C(1) << 63)

struct ledger_total {
	uint64_t count, ns, bytes;
};

/* Stacks that were copied and unwound: samples, and launches and calls that probes saw. */
struct ledger_unwound {
	uint64_t ends[UNWIND_ENDS]; /* by how the walk ended */
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
	struct ledger_total measured, reported; /* by operations and waits; by CUPTI's own sums */
	struct api_calls api;                   /* empty: not asked for */
	struct timeline_stats timeline;         /* all 0: no timeline, or an empty one */
};

/* Zero-initialised is empty. */
void ledger_release(struct ledger *ledger);

/* False: one of the three would exceed LEDGER_TOTAL_MAX; nothing is added. */
bool ledger_total_add(struct ledger_total *total, uint64_t count, uint64_t ns, uint64_t bytes);

/* Takes something that is known of a run: a name, and a text or, if that is NULL, a number. */
typedef void (*fact_visitor)(void *context, const char *name, const char *text, uint64_t number);

/* Adds to the row of a device and kind alone; false: out of memory. */
bool ledger_add_row(struct ledger *ledger, const struct gpu_row *work);

/* Adds to the counts of a row those of another one. */
void gpu_row_add(struct gpu_row *sum, const struct gpu_row *more);

/* Adds work in the profile to the row of its device and kind, and to the counts of all work. */
void ledger_add_work(struct ledger *ledger, const struct gpu_row *work);

/*
 * Settles a process: compares the profile's sums of its GPU work with those that CUPTI reported, to
 * the nanosecond and byte.
 */
void ledger_settle(struct ledger *ledger, uint32_t pid, const struct work_tally *counted,
		   const struct work_tally *reported);

/* False: programs used CUDA, and of none of them it is known what its GPU work took. */
static inline bool ledger_has_gpu_time(const struct ledger *l)
{
	return l->calls.processes == 0 || l->pipe.processes > l->pipe.without_cupti;
}

#endif
