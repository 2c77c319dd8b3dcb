/* SPDX-License-Identifier: MIT */
/*
 * All counts of a run in one place: what was seen, what was joined, what was lost. Each stage adds
 * to its own part; the summary, --strict and outputs read all of it.
 *
 * Counts of things unless a name ends in _ns or _bytes. What is lost is in one count only.
 */
#ifndef PROFILER_PROFILE_LEDGER_H
#define PROFILER_PROFILE_LEDGER_H

#include <stdbool.h>
#include <stdint.h>
#include "cupti_trace/work_tally.h"
#include "profiler/profile/timeline.h"
#include "symbolize/hash_index.h"

/* CPU samples, and stacks that were copied and unwound here. */
struct ledger_cpu {
	uint64_t samples;   /* in the profile */
	uint64_t whole;     /* of these, down to the thread's start */
	uint64_t dropped;   /* no room between the kernel and us */
	uint64_t in_calls;  /* ticks within timed calls, whose time is the calls' */
	uint64_t after_end; /* processes that ran on after the command, unsampled */
};

struct ledger_launches {
	uint64_t kernels;    /* calls that launch kernels or graphs */
	uint64_t all;        /* those and calls that copy, set or allocate */
	uint64_t with_stack; /* of all, whose stack was taken in the process */
	uint64_t by_probe;   /* stacks that were taken by uprobes, of nested calls too */
	uint64_t whole;      /* of both, down to the thread's start */
	uint64_t dropped;    /* launches or their stacks that were lost */
	/*
	 * Launches of one kernel whose record never came: it had not ended when its process's
	 * tracing did, or was lost in silence. Not those that are known to be lost.
	 */
	uint64_t unended;
	uint32_t probed_functions;
};

/* GPU work of one kind on devices with one number, of all processes. */
struct gpu_row {
	uint32_t device, work; /* enum gpu_work */
	uint64_t count, ns, bytes;
	uint64_t unmatched, unmatched_ns; /* of these: no launch was found */
	uint64_t bad_times;               /* no usable timestamps: 0 ns */
	uint64_t staged;                  /* gpu_work_is_staged() */
	/* what gpu_event.h's enum gpu_outside says of their times */
	uint64_t before, before_ns, after, after_ns;
};

/* What the GPUs did, as it came through the pipe. */
struct ledger_gpu {
	uint64_t kernels, kernel_ns;
	uint64_t others;    /* operations other than kernels */
	uint64_t matched;   /* operations with a duration that have the stack of their launch */
	uint64_t unmatched; /* that have none, though something launched them */
	uint64_t unmatched_ns;
	uint64_t bad_times;     /* without usable timestamps: 0 ns */
	uint64_t unseen_nodes;  /* of graph nodes whose making was not seen */
	uint64_t dropped;       /* by CUPTI or in the target, as the target reported */
	uint64_t missing;       /* sent, by a process's own totals, but not received */
	uint64_t unknown_kinds; /* CUPTI records of a kind nobody asked for */
	struct gpu_row *rows;   /* by device and kind */
	uint32_t row_count, row_capacity, last_row;
	struct hash_index row_index;
	/* CUPTI's own sums, by process, device, context, stream and kind, against the profile's */
	uint64_t sums, equal;
	uint64_t unreported; /* sums of processes that reported none: killed, say */
	uint64_t uncompared; /* because there are more than are kept apart */
	/* the first difference, if equal < sums */
	struct work_sum difference, difference_here;
	uint32_t difference_pid;
};

/* The pipe, and the processes that write to it. */
struct ledger_pipe {
	uint64_t lines;            /* all but empty ones */
	uint64_t malformed;        /* not an event: ignored */
	uint64_t too_long;         /* of these, longer than a line may be */
	uint64_t refused;          /* of processes that are not the target's, or of nobody */
	uint64_t left;             /* bytes that were still in the pipe when reading had to end */
	uint64_t lost_batches;     /* gaps in a process's sequence of writes */
	uint32_t processes;        /* that said hello */
	uint32_t without_cupti;    /* of these, that cannot be traced: their hello said so */
	uint32_t graph_time_bugs;  /* of these, whose CUPTI gives wrong times in long graph runs */
	uint32_t without_goodbye;  /* that ended otherwise: killed, or _exit */
	uint32_t wrong_totals;     /* whose sum of ns is not what was received */
	uint32_t foreign_versions; /* spoke another protocol version; ignored */
	char first_malformed[81];
	char first_refused[81];
};

/* Calls that waited for the GPU (--waits), and calls that were timed for want of GPU time. */
struct ledger_calls {
	uint64_t waits, wait_ns;
	uint64_t cut_waits; /* of which only the last part is split by what ran */
	uint64_t timed, timed_ns;
	uint64_t without_stack; /* of the timed ones, whose entry was dropped */
	uint64_t unfinished;    /* of these, that lasted to the end of their process */
	uint64_t lost;          /* not in the profile */
	uint32_t processes;     /* whose calls were timed, or would have been traced */
};

struct ledger_processes {
	uint64_t lost_records; /* of mappings, forks and the like */
	uint64_t not_followed; /* descendants, because there were too many at once */
	bool driver_mapped;    /* some process mapped libcuda */
};

/* What was not kept, in order to stay within bounds. */
struct ledger_bounds {
	uint64_t stacks;        /* under "[too many stacks]" */
	uint64_t told;          /* things that the target sent: names, mappings, stacks */
	uint64_t out_of_memory; /* events lost for want of memory */
	uint64_t truncated;     /* stacks cut where they were too deep or could not be followed */
};

struct ledger {
	struct ledger_cpu cpu;
	struct ledger_launches launches;
	struct ledger_gpu gpu;
	struct ledger_pipe pipe;
	struct ledger_calls calls;
	struct ledger_processes processes;
	struct ledger_bounds bounds;
	struct timeline_stats timeline; /* all 0: there is none, or nothing happened */
};

/* Zero-initialised is empty. */
void ledger_release(struct ledger *ledger);

/* Adds work that is in the profile to the row of its device and kind. */
void ledger_add_work(struct ledger *ledger, const struct gpu_row *work);

/*
 * Closes the books of a process: what the profile holds of its GPU work against what CUPTI
 * reported, to the nanosecond and byte.
 */
void ledger_settle(struct ledger *ledger, uint32_t pid, const struct work_tally *counted,
		   const struct work_tally *reported);

#endif
