/* SPDX-License-Identifier: MIT */
/*
 * The processes of the target's tree: one struct for each, from start to end.
 *
 * The struct holds all that is known of a process. A process that executes another program becomes
 * a new struct with a new id: the data of the two never mix, even if the kernel reuses a pid, or
 * two processes in different pid namespaces have the same one. A process starts with a fork, an
 * exec, or a hello in the pipe; it ends once, when its last thread ends or when it executes another
 * program. Records of its GPU work arrive later, so it is kept for PROCESSES_LINGER_NS and as long
 * as it is traced; but a process known only from the pipe has sent everything when it ends.
 *
 * Times are CLOCK_MONOTONIC in ns.
 */
#ifndef PROFILER_CPU_PROCESSES_H
#define PROFILER_CPU_PROCESSES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "cupti_trace/wire/work_tally.h"
#include "profiler/cpu/chosen.h"
#include "profiler/cpu/pid_namespace.h"
#include "profiler/cpu/process_event.h"
#include "profiler/cpu/pythons.h"
#include "profiler/cpu/renames.h"
#include "profiler/cpu/target_stacks.h"
#include "profiler/cpu/thread_names.h"
#include "profiler/model/untraced.h"
#include "symbolize/python_threads.h"
#include "symbolize/util/id_map.h"

#define PROCESSES_LINGER_NS 3000000000u

struct process {
	uint32_t id; /* from 1 on, in order of appearance; never reused in a run */
	pid_t pid;
	pid_t visible_pid; /* in our pid namespace, for /proc; 0: unknown */
	uint64_t began_ns; /* 0: before it was known */
	uint64_t ended_ns; /* 0: running */
	bool is_replaced;  /* it ended because its process executed another program */
	bool has_status;   /* `wait_status` is known, as wait(2) gives it */
	int wait_status;
	uint32_t threads; /* running ones, by the kernel's records */
	bool is_ours;     /* the target before its exec: our own code */
	bool is_guessed;  /* known only by a stack */
	bool is_attached; /* it ran before us: `threads` may be too many */
	bool is_apart;    /* known only from the pipe; the kernel's records belong to another */
	struct pid_namespace pid_namespace; /* read when needed; id 0: not yet */
	const char *comm; /* of its program, by the kernel, interned; NULL: unknown */
	/* the kernel's name of its first thread, while its time was spent; "": as the program's */
	char renamed[PROCESS_COMM_BYTES];
	struct renames renames; /* from the allowance of `sent` */
	/* the interpreter's names of threads; where they are, NULL: not read yet */
	struct thread_names thread_names;
	struct python_threads_places *places_of_threads;
	uint64_t reads_names_ns; /* when they are read again, if time was spent until then */
	bool has_spent;          /* or begun a thread, since they were read */

	struct address_space *space;
	uint32_t python; /* pythons.h's number of its interpreter; 0: none known */
	bool has_code;   /* its executable was mapped: the first file that is */
	bool just_began; /* a program was executed, and has mapped or started nothing yet */
	struct target_stacks sent; /* the parts of stacks that it sent */
	uint32_t first_launch;     /* the least correlation id that was sent; 0: none was */
	bool has_spoken;           /* a program in it has said hello; further programs are kept
				    * apart */
	uint32_t tracers;          /* programs in it that write to the pipe: 1, or 0 */
	bool is_traced;            /* and its GPU work comes through the pipe */
	/* libraries that it has mapped itself, not inherited: libcuda, our injection library */
	bool has_driver, has_injection;
	bool has_nvml;                       /* libnvidia-ml, likewise */
	bool inherits_driver, inherits_nvml; /* its parent had mapped them */
	struct untraced_libc libc;
	/* what was found when it had mapped libcuda, or its parent had (run/obstacles.h) */
	bool has_obstacle; /* that was looked for */
	enum untraced_cause obstacle;
	/* how many devices of the GPU it was seen to have opened; what it had when it ended */
	uint32_t opened;
	bool looked_at_end, has_device;

	/* the profile's sums of its GPU work, and CUPTI's sums at its end */
	struct work_tally counted, reported;
	bool lacks_sums;    /* it ended before it had reported them all */
	size_t tally_bytes; /* taken from the allowance of `sent` */

	bool has_begun_cuda;  /* of those that ran before us: see session.c */
	struct chosen chosen; /* when it is recorded, with --range */
	bool has_entered;     /* it has chosen a part (ranges_seen.h) */
	bool works_outside;   /* GPU work of it is in no such part */
	bool lacks_gpu_time;  /* it made CUDA calls, or was to be traced */

	/* cpu_time.h's numbers of what it runs, and of what ran under its pid before; 0: none */
	uint32_t program, earlier;
	uint64_t charged_ns; /* by the kernel, to its pid */
	uint64_t read_ns;    /* when that was known last */
	bool has_executed;   /* its pid was another program's before */
	bool runs_on;        /* after the command */
	bool is_loaded;      /* `comm` is the program's that a dynamic loader runs */

	struct process *next;   /* in the table's list of ended processes */
	struct process *before; /* that had the same pid, and has ended */
};

struct processes {
	struct id_map by_pid; /* running ones; values are pointers */
	struct id_map by_id;  /* all */
	struct id_map ended;  /* the last one ended of each pid */
	struct process *first_ended, *last_ended;
	uint32_t newest_id;
	uint32_t taken_id; /* up to here processes_take_any has taken them */
};

void processes_release(struct processes *processes);

/*
 * The process that runs under this pid, or NULL; the process with this id, or NULL if it is gone.
 */
struct process *processes_find(const struct processes *processes, pid_t pid);
struct process *processes_get(const struct processes *processes, uint32_t id);

/* The running process with this pid, else the last one that is still kept, or NULL. */
struct process *processes_find_last(const struct processes *processes, pid_t pid);

/*
 * The process that had this pid then, if it is still kept; else the running one, or NULL. One that
 * has ended keeps its pid until another begins: it is still charged for its end.
 */
struct process *processes_find_at(const struct processes *processes, pid_t pid, uint64_t time_ns);

/*
 * An existing process; ends one that runs under the same pid. `knows_maps`: all of its mappings
 * will be reported. NULL: out of memory.
 */
struct process *processes_start(struct processes *processes, pid_t pid, uint64_t time_ns,
				bool knows_maps);

/*
 * A process known only from the pipe: not found by its pid, and ended by the caller. `visible_pid`
 * is its pid in our namespace; 0: unknown. NULL: out of memory.
 */
struct process *processes_start_apart(struct processes *processes, pid_t pid, pid_t visible_pid);

/* `pid` starts as a copy of `parent`. NULL: out of memory. */
struct process *processes_fork(struct processes *processes, const struct process *parent, pid_t pid,
			       uint64_t time_ns);

/* The process has ended. No effect on one that has ended before. */
void processes_end(struct processes *processes, struct process *process, uint64_t time_ns);

/*
 * Takes out a process that ended so long before `now_ns` that nothing more can come from it; NULL:
 * none. The caller drops what it keeps under the process's id, then frees the process.
 */
struct process *processes_take_settled(struct processes *processes, uint64_t now_ns);

/*
 * Takes out a process, running ones included: those that have ended, then in order of their ids;
 * NULL: none left.
 */
struct process *processes_take_any(struct processes *processes);

/*
 * Adds a sum to one of the process's two tallies. Marks the tally as incomplete if there is no
 * room.
 */
void process_count(struct process *process, struct work_tally *tally, struct allowance *allowance,
		   const struct work_sum *sum);

void process_free(struct process *process);

#endif
