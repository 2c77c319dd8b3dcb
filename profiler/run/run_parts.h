/* SPDX-License-Identifier: MIT */
/*
 * What a run takes in from, and what it takes it into: opened in order, each with the privilege
 * that it needs, and closed at the end. The modules of run/ that take events in share it; who
 * drives them is session.h.
 */
#ifndef PROFILER_RUN_RUN_PARTS_H
#define PROFILER_RUN_RUN_PARTS_H

#include <limits.h>
#include "profiler/attach/attached_cuda.h"
#include "profiler/attach/notices.h"
#include "profiler/attach/payload.h"
#include "profiler/run/obstacles.h"
#include "profiler/run/pipe_reader.h"
#include "profiler/run/recorded_time_range.h"
#include "profiler/run/run_phase.h"
#include "profiler/run/session.h"
#include "profiler/run/target_environment.h"
#include "profiler/sources/gpu_pipe.h"
#include "profiler/sources/kernel_events.h"
#include "profiler/sources/recording.h"

/* What a descriptor watched by the run's epoll is. */
enum { READY_SIGNAL, READY_TARGET, READY_PIPE, READY_KERNEL };

/* How long libraries that were asked to are waited for to send what they have. */
#define GOODBYE_TIMEOUT_NS 5000000000u

struct run_parts {
	const struct session_options *options;
	const struct supervisor_link *supervisor;
	struct log *log;
	enum run_phase phase;
	int epoll;
	int kallsyms; /* opened with privilege; -1: it is not, or `collect` has it */
	struct notices notices;
	struct collect *collect;
	struct kernel_events *kernel;
	char no_bpf[512]; /* why BPF is missing; "": it is not, or is not needed */
	struct gpu_pipe *pipe;
	struct pipe_reader reader; /* how far it is read */
	struct payload payload;
	struct attachment *attachment;   /* in place of a target; NULL: there is one */
	char *program;                   /* the command line of its first process; NULL: unknown */
	struct attached_cuda cuda;       /* processes that ran before us and use CUDA */
	struct uprobes *probes;          /* of launches; NULL: not asked for */
	struct call_timing *call_timing; /* NULL: it cannot be */
	struct obstacles *obstacles;     /* NULL: not looked for, in processes that ran before us */
	struct recording *recording;     /* NULL: not asked for */
	char injection_lib[PATH_MAX];    /* absolute path of -injection-lib */
	struct recorded_time_range recorded; /* what of the run is recorded */
	uint64_t quick_until_ns;             /* look often until then */
	uint64_t start_ns, start_unix_ns, ended_ns;
};

/* `run` is zero-initialised; the other arguments outlive it. run_parts_close is allowed then. */
void run_parts_init(struct run_parts *run, const struct session_options *options,
		    const struct supervisor_link *supervisor, struct log *log);
void run_parts_close(struct run_parts *run);

/* Opens what needs privilege. 0, or an exit status after logging the reason. */
int run_parts_open(struct run_parts *run);

/* Opens the rest as the user, but for the target. 0, or -errno after logging the reason. */
int run_parts_open_inputs(struct run_parts *run);

/*
 * Makes the private folder and opens the pipe; of running processes only where the library is
 * brought in.
 */
int run_parts_open_pipe(struct run_parts *run);

/* Probes further libraries, as the user named them. */
int run_parts_probe_libraries(struct run_parts *run);

/* Makes the variables by which the library learns what it is asked for. */
void run_parts_environment(struct run_parts *run, const struct measure *measure,
			   struct target_environment *environment);

/* Gives up what keeps other processes out. */
void run_parts_lock(const struct run_parts *run);

/* Has the run's epoll report `what` when `fd` can be read. 0 or -errno. */
int run_parts_watch(struct run_parts *run, int fd, uint32_t what);

/* Begins the run, or what is recorded of it, now. */
void run_parts_begin(struct run_parts *run);

/* Lets a library that has said hello, or has loaded something, go on. */
void run_parts_answer(struct run_parts *run, pid_t pid, uint64_t instance);

/* Lets all libraries go on that have said hello before recording began. */
void run_parts_answer_all(struct run_parts *run);

/* Removes the run's files; then the supervisor need not. */
void run_parts_remove_payload(struct run_parts *run);

/* Closes what the kernel reports by. */
void run_parts_close_kernel(struct run_parts *run);

#endif
