/* SPDX-License-Identifier: MIT */
/*
 * Owns the inputs of a run and `collect`, which receives them: opens each in order, with the
 * privilege that it needs, and closes all at the end. Modules of run/ that read events share the
 * struct; session.h drives them.
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
#include "profiler/sources/kernel_names.h"
#include "profiler/sources/recording.h"

/* Descriptors that the run's epoll watches. */
enum { READY_SIGNAL, READY_TARGET, READY_PIPE, READY_KERNEL };

/* Timeout for libraries that were asked to leave to send their data. */
#define GOODBYE_TIMEOUT_NS 5000000000u

struct run_parts {
	const struct session_options *options;
	const struct supervisor_link *supervisor;
	struct log *log;
	enum run_phase phase;
	int epoll;
	struct kernel_names *kernel_names; /* NULL: not possible */
	int kallsyms; /* opened with privilege; -1: failed, or passed to `collect` */
	struct notices notices;
	struct collect *collect;
	struct kernel_events *kernel;
	char no_bpf[512]; /* reason why BPF is missing; "": present, or not needed */
	struct gpu_pipe *pipe;
	struct pipe_reader reader;
	struct payload payload;
	struct attachment *attachment;   /* instead of a target; NULL: a command runs */
	uint64_t look_ns;                /* attached_look_again: not before */
	bool has_not_looked;             /* the last look failed */
	char *program;                   /* command line of the first process; NULL: unknown */
	struct attached_cuda cuda;       /* running processes that use CUDA */
	struct uprobes *probes;          /* on launches; NULL: not requested */
	struct call_timing *call_timing; /* NULL: not possible */
	struct obstacles *obstacles;     /* NULL with running processes */
	struct recording *recording;     /* NULL: not requested */
	char injection_lib[PATH_MAX];    /* absolute path from -injection-lib */
	struct gpu_watch gpu_watch;
	struct recorded_time_range recorded;
	uint64_t quick_until_ns; /* end of the time with short ticks */
	uint64_t start_ns, start_unix_ns, ended_ns;
};

/* Initialises a zeroed `run`, which may then be closed. The other arguments must outlive it. */
void run_parts_init(struct run_parts *run, const struct session_options *options,
		    const struct supervisor_link *supervisor, struct log *log);
void run_parts_close(struct run_parts *run);

/* Opens what needs privilege. Returns 0, or an exit status after logging the reason. */
int run_parts_open(struct run_parts *run);

/* Opens the rest as the user, except the target. Returns 0, or -errno after logging the reason. */
int run_parts_open_inputs(struct run_parts *run);

/*
 * Makes the private folder and opens the pipe. With running processes, only if the library is to be
 * injected. Returns 0, or -errno after logging the reason.
 */
int run_parts_open_pipe(struct run_parts *run);

/* Probes the libraries of -cuda-lib. Returns 0, or -errno after logging the reason. */
int run_parts_probe_libraries(struct run_parts *run);

/* Makes the variables that configure the library. */
void run_parts_environment(struct run_parts *run, const struct measure *measure,
			   struct target_environment *environment);

/* Drops privileges for programs executed later (privilege_lock), and removes stale folders. */
void run_parts_lock(const struct run_parts *run);

/* Makes the run's epoll report `what` when `fd` is readable. Returns 0 or -errno. */
int run_parts_watch(struct run_parts *run, int fd, uint32_t what);

/* Sets the start of the run, or of its recorded time range, to now. */
void run_parts_begin(struct run_parts *run);

/* Releases a library that waits after its hello, or after it loaded something. */
void run_parts_answer(struct run_parts *run, pid_t pid, uint64_t instance);

/* Releases all libraries that said hello before recording began. */
void run_parts_answer_all(struct run_parts *run);

/* Removes the run's files and reports that to the supervisor. */
void run_parts_remove_payload(struct run_parts *run);

/* Closes the kernel's event sources. */
void run_parts_close_kernel(struct run_parts *run);

#endif
