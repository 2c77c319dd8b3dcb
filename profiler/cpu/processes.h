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
#include "profiler/cpu/recorded_intervals.h"
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

/* How a process came to be known. */
enum process_source {
	PROCESS_STARTED,  /* by a fork or an exec in the tree */
	PROCESS_OURS,     /* the target before its exec: our own code */
	PROCESS_GUESSED,  /* only by a stack */
	PROCESS_ATTACHED, /* it ran before us: `threads` may be too many */
	PROCESS_APART,    /* only from the pipe; the kernel's records belong to another */
};

/* Speech of the programs in it. One writes to the pipe; further ones are kept apart. */
enum process_speech {
	PROCESS_SILENT, /* none has said hello */
	PROCESS_SPEAKS, /* one has, and traces nothing */
	PROCESS_TRACED, /* one has, and its GPU work comes through the pipe */
	PROCESS_SPOKE,  /* one had, and has said goodbye */
};

/* How it ended, as far as that is known. */
enum process_end {
	PROCESS_END_UNKNOWN, /* or it runs */
	PROCESS_REPLACED,    /* its process executed another program */
	PROCESS_EXITED,      /* or was killed: there is a status */
};

/* Signs of a process's use of the GPU, besides what it sends (model/untraced.h). */
struct process_gpu {
	/* libraries that it has mapped itself, not inherited: libcuda, our injection library,
	 * libnvidia-ml */
	bool has_driver, has_injection, has_nvml;
	bool inherits_driver, inherits_nvml; /* its parent had mapped them */
	struct untraced_libc libc;
	/* what was found when it had mapped libcuda, or its parent had (run/obstacles.h) */
	bool has_obstacle; /* that was looked for */
	enum untraced_cause obstacle;
	/* how many devices it was seen to have opened; what it had when it ended */
	uint32_t opened;
	bool looked_at_end, has_device;
};

/* When it is recorded, with --range (ranges_seen.h). */
struct process_ranges {
	struct recorded_intervals intervals;
	bool has_entered;   /* it has chosen a part */
	bool works_outside; /* GPU work of it is in no such part */
};

/* Its CPU time by the kernel's clock (cpu_time.h). */
struct process_clock {
	/* numbers of what it runs, and of what ran under its pid before; 0: none */
	uint32_t program, earlier;
	uint64_t charged_ns; /* by the kernel, to its pid */
	uint64_t read_ns;    /* when that was known last */
	bool has_executed;   /* its pid was another program's before */
	bool runs_on;        /* after the command */
};

struct process {
	uint32_t id; /* from 1 on, in order of appearance; never reused in a run */
	pid_t pid;
	pid_t visible_pid; /* in our pid namespace, for /proc; 0: unknown */
	enum process_source source;
	uint64_t began_ns; /* 0: before it was known */
	uint64_t ended_ns; /* 0: running */
	enum process_end end;
	int wait_status;                    /* of PROCESS_EXITED, as wait(2) gives it */
	uint32_t threads;                   /* running ones, by the kernel's records */
	struct pid_namespace pid_namespace; /* read when needed; id 0: not yet */
	const char *comm; /* of its program, by the kernel, interned; NULL: unknown */
	bool is_loaded;   /* `comm` is the program's that a dynamic loader runs */
	/* the kernel's name of its first thread, while its time was spent; "": as the program's */
	char renamed[PROCESS_COMM_BYTES];
	struct renames renames; /* from the quota of `sent` */
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
	enum process_speech speech;
	struct process_gpu gpu;
	bool has_begun_cuda; /* of those that ran before us: attached_cuda.h */
	bool lacks_gpu_time; /* it made CUDA calls, or was to be traced */

	/* the profile's sums of its GPU work, and CUPTI's sums at its end */
	struct work_tally counted, reported;
	bool lacks_sums;    /* it ended before it had reported them all */
	size_t tally_bytes; /* taken from the quota of `sent` */

	struct process_ranges ranges;
	struct process_clock clock;

	struct process *next;   /* in the table's list of ended processes */
	struct process *before; /* that had the same pid, and has ended */
};

static inline bool process_has_spoken(const struct process *process)
{
	return process->speech != PROCESS_SILENT;
}

/* Returns whether it may still send something. */
static inline bool process_is_speaking(const struct process *process)
{
	return process->speech == PROCESS_SPEAKS || process->speech == PROCESS_TRACED;
}

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
void process_count(struct process *process, struct work_tally *tally, struct quota *quota,
		   const struct work_sum *sum);

void process_free(struct process *process);

#endif
