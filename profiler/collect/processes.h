/* SPDX-License-Identifier: MIT */
/*
 * The processes of the target's tree: one struct for each, from its start to its end.
 *
 * All that is known of a process hangs on its struct and goes with it. A process that executes
 * another program becomes another struct process, with another id: what belongs to the one is never
 * taken for the other's, also when the kernel uses a pid again, or when two processes in different
 * pid namespaces have the same one. It starts with a fork, an exec, or a hello in the pipe; it ends
 * once, when its last thread has gone or when it executes another program. Records of its GPU work
 * come later, so it is kept for PROCESSES_LINGER_NS and as long as something traces it; but one
 * that is known only by what it sends has sent all when it ends.
 *
 * Times are CLOCK_MONOTONIC in ns.
 */
#ifndef PROFILER_COLLECT_PROCESSES_H
#define PROFILER_COLLECT_PROCESSES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "cupti_trace/work_tally.h"
#include "profiler/base/id_map.h"
#include "profiler/collect/pid_namespace.h"
#include "profiler/collect/process_event.h"
#include "profiler/collect/pythons.h"
#include "profiler/collect/target_stacks.h"

#define PROCESSES_LINGER_NS 3000000000u

struct process {
	uint32_t id; /* from 1 on, in order of appearance; never used again in a run */
	pid_t pid;
	uint64_t began_ns; /* 0: before it was known */
	uint64_t ended_ns; /* 0: it runs */
	uint32_t threads;  /* that run, as far as the kernel's records say */
	bool is_ours;      /* the target before its exec: our own code */
	bool is_apart;     /* known by what it sends alone; the kernel's records are another's */
	struct pid_namespace pid_namespace; /* looked at when it matters; id 0: not yet */
	const char *comm;                   /* the kernel's name of it, interned; NULL: not known */

	struct address_space *space;
	uint32_t python;           /* pythons.h's number of its interpreter; 0: none is known */
	struct target_stacks sent; /* what it told of its stacks */
	bool has_spoken;           /* a program in it has said hello: others are kept apart */
	uint32_t tracers;          /* programs in it that write to the pipe: 1, or 0 */
	bool is_traced;            /* and its GPU work comes that way */

	/* what the profile holds of its GPU work, and what CUPTI reported at its end */
	struct work_tally counted, reported;
	size_t tally_bytes; /* taken from the allowance of `sent` */

	/* its calls of CUDA are timed since then, for want of GPU time; 0: they are not */
	uint64_t timed_since_ns;
	bool lacks_gpu_time; /* it made such calls, or would have been traced */

	struct process *next; /* in the table's list of those that have ended */
};

struct processes {
	struct id_map by_pid; /* running ones; values are pointers */
	struct id_map by_id;  /* all that are kept */
	struct process *first_ended, *last_ended;
	uint32_t newest_id;
	uint32_t position; /* of processes_take_any, in by_id */
};

void processes_release(struct processes *processes);

/* The process that runs under this pid, or NULL; the one with this id, or NULL if it is gone. */
struct process *processes_find(const struct processes *processes, pid_t pid);
struct process *processes_get(const struct processes *processes, uint32_t id);

/* The one that ran under this pid then, if it is still kept; else the one that runs, or NULL. */
struct process *processes_find_at(const struct processes *processes, pid_t pid, uint64_t time_ns);

/*
 * A process that is there: one that runs under the same pid ends. `knows_maps`: its mappings will
 * all be reported. NULL: out of memory.
 */
struct process *processes_start(struct processes *processes, pid_t pid, uint64_t time_ns,
				bool knows_maps);

/*
 * A process that is known only by what it sends: it is not found by its pid, and ends when the
 * caller says so. NULL: out of memory.
 */
struct process *processes_start_apart(struct processes *processes, pid_t pid);

/* `pid` is a copy of `parent`, but for what it tells and does from now on. NULL: out of memory. */
struct process *processes_fork(struct processes *processes, const struct process *parent, pid_t pid,
			       uint64_t time_ns);

/* It has ended, once: no effect on a process that has. */
void processes_end(struct processes *processes, struct process *process, uint64_t time_ns);

/*
 * Takes out a process that ended so long before `now_ns` that nothing more can come of it; NULL:
 * there is none. The caller lets go of what it keeps by the process's id, then frees it.
 */
struct process *processes_take_settled(struct processes *processes, uint64_t now_ns);

/* Takes out any process, running ones too: NULL when none is left. */
struct process *processes_take_any(struct processes *processes);

/*
 * Adds a sum to one of the process's two tallies. Without room for a further one the tally says
 * that it is not complete.
 */
void process_count(struct process *process, struct work_tally *tally, struct allowance *allowance,
		   const struct work_sum *sum);

void process_free(struct process *process);

#endif
