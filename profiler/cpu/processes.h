/* SPDX-License-Identifier: MIT */
/*
 * Keeps one struct for each process of the target's tree, from start to end.
 *
 * A process that executes another program becomes a new struct with a new id. So data of two
 * programs never mix, even if the kernel reuses a pid, or pids of two namespaces are equal. A
 * process starts with a fork, an exec, or a hello in the pipe. It ends once: when its last thread
 * ends, or when it executes another program. Records of its GPU work arrive later. So an ended
 * process is kept for PROCESSES_LINGER_NS, and as long as it is traced. A process known only from
 * the pipe has sent everything when it ends.
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
#include "profiler/cpu/recording_windows.h"
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

/* First evidence of a process. */
enum process_source {
	PROCESS_STARTED,   /* fork or exec in the tree */
	PROCESS_OURS,      /* target before its exec: our own code */
	PROCESS_GUESSED,   /* stack only */
	PROCESS_ATTACHED,  /* attached to; `threads` may be too high */
	PROCESS_PIPE_ONLY, /* hello in the pipe only; its pid may be another process's */
};

/* Tracing state of the program. Further programs in one process get a struct of their own. */
enum process_speech {
	PROCESS_SILENT, /* no hello */
	PROCESS_SPEAKS, /* hello, but traces nothing */
	PROCESS_TRACED, /* hello, and sends its GPU work */
	PROCESS_SPOKE,  /* goodbye */
};

/* Known end of a process. */
enum process_end {
	PROCESS_END_UNKNOWN, /* running, or unknown */
	PROCESS_REPLACED,    /* executed another program */
	PROCESS_EXITED,      /* exited or was killed, with a status */
};

/* Signs of a process's use of the GPU, besides what it sends (model/untraced.h). */
struct process_gpu {
	/* libraries mapped by the process itself: libcuda, our injection library, libnvidia-ml */
	bool has_driver, has_injection, has_nvml;
	bool inherits_driver, inherits_nvml; /* mapped by its parent */
	struct untraced_libc libc;
	/* obstacle found when the process, or its parent, had mapped libcuda (run/obstacles.h) */
	bool has_obstacle; /* `obstacle` is set */
	enum untraced_cause obstacle;
	/* devices seen open; state at its end */
	uint32_t opened;
	bool has_end_state, has_device;
};

/* Recorded time with --range (ranges_seen.h). */
struct process_ranges {
	struct recorded_intervals intervals;
	bool has_entered;   /* has entered a recorded range */
	bool works_outside; /* has GPU work outside recorded ranges */
};

/* CPU time by the kernel's clock (cpu_time.h). */
struct process_clock {
	/* numbers of its program, and of its pid's previous program; 0 if none */
	uint32_t program, earlier;
	uint64_t charged_ns; /* charged by the kernel to the pid */
	uint64_t read_ns;    /* time of the last reading */
	bool has_executed;   /* the pid ran another program before */
	bool runs_on;        /* outlives the command */
};

struct process {
	uint32_t id; /* numbered from 1 in order of appearance; never reused in a run */
	pid_t pid;
	pid_t visible_pid; /* pid in our namespace, for /proc; 0 if unknown */
	enum process_source source;
	uint64_t began_ns; /* 0 if before it was known */
	uint64_t ended_ns; /* 0: running */
	enum process_end end;
	int wait_status;                    /* set with PROCESS_EXITED, see wait(2) */
	uint32_t threads;                   /* number of running threads, by the kernel's records */
	struct pid_namespace pid_namespace; /* read when needed; id 0: not yet */
	const char *comm; /* kernel's name of its program, interned; NULL if unknown */
	bool is_loaded;   /* `comm` names the program of a dynamic loader */
	/* kernel's name of its first thread, while its time was spent; "": unchanged */
	char renamed[PROCESS_COMM_BYTES];
	struct renames renames; /* charged to the quota of `sent` */
	/* interpreter's names of threads, and their addresses; NULL: not read yet */
	struct thread_names thread_names;
	struct python_threads_places *places_of_threads;
	uint64_t reads_names_ns; /* time of the next reading of names, if `has_spent` */
	bool has_spent;          /* spent time, or began a thread, since the last reading */

	struct address_space *space;
	uint32_t python; /* number of its interpreter in pythons.h; 0 if there is none */
	bool has_code;   /* its executable, the first mapped file, is known */
	bool just_began; /* its program was executed, and has mapped or started nothing yet */
	struct target_stacks sent; /* parts of stacks that it sent */
	uint32_t first_launch;     /* lowest correlation id sent; 0 if none */
	enum process_speech speech;
	struct process_gpu gpu;
	bool has_begun_cuda; /* set for processes attached to: attached_cuda.h */
	bool lacks_gpu_time; /* made CUDA calls, or should have been traced */

	/* the profile's totals of its GPU work, and CUPTI's totals at its end */
	struct work_tally counted, reported;
	bool lacks_sums;    /* ended before CUPTI had reported all totals */
	size_t tally_bytes; /* charged to the quota of `sent` */

	struct process_ranges ranges;
	struct recording_windows windows;
	struct process_clock clock;

	struct process *next;   /* next in the list of ended processes */
	struct process *before; /* ended process that had this pid before */
};

static inline bool process_has_spoken(const struct process *process)
{
	return process->speech != PROCESS_SILENT;
}

/* Returns true if the process may still send events. */
static inline bool process_is_speaking(const struct process *process)
{
	return process->speech == PROCESS_SPEAKS || process->speech == PROCESS_TRACED;
}

struct processes {
	struct id_map by_pid; /* running processes; values are pointers */
	struct id_map by_id;  /* all processes */
	struct id_map ended;  /* last ended process of each pid */
	struct process *first_ended, *last_ended;
	uint32_t newest_id;
	uint32_t taken_id;    /* last id that processes_take_any has taken */
	struct process *last; /* result of the last processes_again, which is likely the next */
};

void processes_release(struct processes *processes);

/* Return the process running under this pid, or the one with this id. NULL if there is none. */
struct process *processes_find(const struct processes *processes, pid_t pid);
struct process *processes_get(const struct processes *processes, uint32_t id);

/* Does what processes_get does, and sooner if it is the one found last. */
struct process *processes_again(struct processes *processes, uint32_t id);

/* Returns the running process with this pid, else the last one still kept, or NULL. */
struct process *processes_find_last(const struct processes *processes, pid_t pid);

/*
 * Returns the process that had this pid at `time_ns`, if it is still kept. Otherwise returns the
 * running one, or NULL. An ended process keeps its pid until another begins, because it is charged
 * for its end.
 */
struct process *processes_find_at(const struct processes *processes, pid_t pid, uint64_t time_ns);

/*
 * Adds an existing process, and ends one with this pid. `knows_maps`: all of its mappings will be
 * reported. Returns NULL if memory is exhausted.
 */
struct process *processes_start(struct processes *processes, pid_t pid, uint64_t time_ns,
				bool knows_maps);

/*
 * Adds a process known only from the pipe. It is not found by its pid, and the caller ends it.
 * `visible_pid` is its pid in our namespace, 0 if unknown. Returns NULL if memory is exhausted.
 */
struct process *processes_start_pipe_only(struct processes *processes, pid_t pid,
					  pid_t visible_pid);

/* Adds process `pid` as a copy of `parent`. Returns NULL if memory is exhausted. */
struct process *processes_fork(struct processes *processes, const struct process *parent, pid_t pid,
			       uint64_t time_ns);

/* Ends a process. Has no effect on a process that has ended before. */
void processes_end(struct processes *processes, struct process *process, uint64_t time_ns);

/*
 * Removes a process that ended long enough before `now_ns` that no event of it can come. Returns
 * NULL if there is none. The caller drops what it keeps under the process's id, then frees the
 * process.
 */
struct process *processes_take_expired(struct processes *processes, uint64_t now_ns);

/*
 * Removes a process, running or ended. Ended ones come first, then running ones by id. Returns NULL
 * if none is left.
 */
struct process *processes_take_any(struct processes *processes);

/* Adds a sum to one of the process's tallies. Without room the tally is marked as incomplete. */
void process_count(struct process *process, struct work_tally *tally, struct quota *quota,
		   const struct work_sum *sum);

void process_free(struct process *process);

#endif
