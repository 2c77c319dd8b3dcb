/* SPDX-License-Identifier: MIT */
/*
 * Runs the user-space side of BPF: loading, sampling clocks, probes and the ring buffer.
 *
 * Sampling uses one software clock per CPU, filtered to the target's process tree in the kernel. So
 * threads and processes shorter than a sampling period are represented in proportion. The clocks
 * tick 2.6 times per sample. Otherwise all samples could meet one point of a program's cycle, if
 * the cycle fits the sampling period. On each CPU, each sampling period of the tree's running time
 * has one sample, at a varying point.
 *
 * bpf_source_open does everything that needs more than CAP_PERFMON and CAP_BPF. With these
 * capabilities any user can do the rest, except for probes before Linux 6.10. Sampling takes one
 * descriptor per CPU.
 */
#ifndef PROFILER_SOURCES_BPF_SOURCE_H
#define PROFILER_SOURCES_BPF_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "bpf/stack_event.h"
#include "cupti_trace/wire/time_range.h"

struct bpf_source;
struct kernel_names;

struct bpf_source_options {
	uint32_t sample_hz; /* 0: no CPU samples */
	bool launches;      /* PROBE_LAUNCH will be used */
	bool calls;         /* probes other than PROBE_LAUNCH may be used */
	bool threads;       /* send STACK_EVENT_THREAD where threads are created */
	bool times;         /* send times of threads: OFF_CPU, ON_CPU, THREAD_TIMES */
	bool moments; /* with `times`: send an ON_CPU for each time off the CPU that is not short */
	bool kernel_waits;  /* send OFF_CPU with kernel frames */
	bool running;       /* processes that already run will be followed */
	bool python_lines;  /* send code objects with line tables */
	bool single_probes; /* use one link per probe, as before Linux 6.10 */
	bool without_casts; /* with `times`: use the switch program for kernels before 6.2 */
};

enum bpf_source_probe {
	PROBE_LAUNCH,    /* entries: STACK_EVENT_LAUNCH, from followed, not timed processes */
	PROBE_CALL,      /* entries and returns: STACK_EVENT_CALL, from timed processes */
	PROBE_SUBSCRIBE, /* returns of cuptiSubscribe: STACK_EVENT_REFUSED, from all followed */
	PROBE_DRIVER,    /* entries of the driver: STACK_EVENT_USES_DRIVER, from all followed */
};

/*
 * Loads the programs, and starts following the process tree and the sampling clocks. On failure
 * returns NULL, with `error` a whole sentence for the user.
 */
struct bpf_source *bpf_source_open(const struct bpf_source_options *options, char *error,
				   size_t error_size);
void bpf_source_close(struct bpf_source *source);

/*
 * Returns what finds names of the kernel's functions, also once `source` is closed. The caller
 * frees it (kernel_names_free). Returns NULL with errno set.
 */
struct kernel_names *bpf_source_kernel_names(const struct bpf_source *source);

/*
 * Varies the clocks' period once a second, keeping the number of samples. `now_ns` is
 * CLOCK_MONOTONIC.
 */
void bpf_source_vary_clocks(struct bpf_source *source, uint64_t now_ns);

/*
 * Limits samples to this time, and launches to those that may have work in it. A tick or launch
 * outside costs next to nothing.
 */
void bpf_source_set_time_range(struct bpf_source *source, const struct time_range *time_range);

/* Stops sampling. Samples already taken stay in the ring buffer. */
void bpf_source_stop_clocks(struct bpf_source *source);

/*
 * Ends threads' times: later THREAD_TIMES are flagged. Then bpf_source_next_times returns the times
 * of each running thread so far, once, in any order, and false at the end. Threads count as lost
 * until their times have been taken either way.
 */
void bpf_source_stop_times(struct bpf_source *source);
bool bpf_source_next_times(struct bpf_source *source, struct stack_times *times);

/*
 * Returns true if times of some threads are still missing. Threads that are about to end are in no
 * list.
 */
bool bpf_source_lacks_times(const struct bpf_source *source);

/*
 * Follows `pid` and all its descendants from now on. The first call fixes the user whose processes
 * may be inspected: the user of the calling thread (bpf/access.bpf.h). Returns 0, or -errno.
 */
int bpf_source_track(struct bpf_source *source, pid_t pid);

/*
 * Starts the times of all threads of followed processes (options `times` and `running`). Returns 0,
 * or -errno. -EOPNOTSUPP: before Linux 6.1.
 */
int bpf_source_follow_threads(struct bpf_source *source);

/* Stops following `pid` itself, which another process had. */
void bpf_source_untrack(struct bpf_source *source, pid_t pid);

/* Returns true if any process is followed. */
bool bpf_source_follows_any(const struct bpf_source *source);

/* Returns true if `pid` is followed. */
bool bpf_source_follows(const struct bpf_source *source, pid_t pid);

/*
 * Adds Python frames, read according to `python`, to the stacks of `pid`, and sends its code
 * objects. Holds while the process runs the program of `python`. Returns 0, or -errno. -ESRCH:
 * `pid` is not followed.
 */
int bpf_source_set_python(struct bpf_source *source, pid_t pid, const struct stack_python *python);

/* Returns true if calls can be timed, i.e. option `calls` is set. */
bool bpf_source_has_calls(const struct bpf_source *source);

/*
 * Returns true if return probes are safe on this kernel. On Linux 6.11 to 6.13 a return probe is a
 * system call, for which a seccomp filter kills the process.
 */
bool bpf_source_may_probe_returns(void);

/* Starts or stops timing the calls of `pid` where PROBE_CALL is set. Returns 0, or -errno. */
int bpf_source_time_calls(struct bpf_source *source, pid_t pid, bool on);

/*
 * Sets probes in a file: at `offsets[i]`, reported as function `functions[i]` (cuda_functions.h).
 * `path` may be any path that leads to the file now. With `pid`, probes only that process, until
 * bpf_source_remove_probes; 0 probes all processes that map the file. Returns 0, or -errno.
 * -ETIMEDOUT, -EBUSY: the kernel waits too long for the file, or for processes that map it.
 */
int bpf_source_probe(struct bpf_source *source, enum bpf_source_probe probe, pid_t pid,
		     const char *path, const uint64_t *offsets, const uint64_t *functions,
		     uint32_t count);

/* Returns true if probes are or were set, so that stacks other than samples may come. */
bool bpf_source_has_probes(const struct bpf_source *source);

/*
 * Returns true if probes also need CAP_SYS_ADMIN: single probes do, and Linux before 6.10 has no
 * others.
 */
bool bpf_source_probes_need_admin(const struct bpf_source *source);

/* Removes the probes that are set in this process only. */
void bpf_source_remove_probes(struct bpf_source *source, pid_t pid);

/*
 * Begins to remove the probes of PROBE_SUBSCRIBE and PROBE_DRIVER, and does not wait: the kernel
 * takes 50 ms for each. For the end of what is recorded.
 */
void bpf_source_end_lookouts(struct bpf_source *source);

/* Returns a descriptor that is readable when much has accumulated; poll on a timer as well. */
int bpf_source_fd(const struct bpf_source *source);

/*
 * Starts a batch: the ring buffer's current contents, at most BPF_SOURCE_BATCH bytes. The kernel
 * has already recorded process events up to then.
 */
#define BPF_SOURCE_BATCH (32u << 20)
void bpf_source_fill(struct bpf_source *source);

/*
 * Returns the batch's next event, or NULL at its end. Its size, kind and counts are checked. The
 * next call frees it.
 */
const struct stack_event *bpf_source_next(struct bpf_source *source);

/* Makes room in the ring buffer if it is filling up: event_ring_relieve. */
void bpf_source_keep(struct bpf_source *source);

/* Returns true if the ring buffer held more events at the end of the batch. */
bool bpf_source_has_more(const struct bpf_source *source);

struct stack_counters bpf_source_counters(const struct bpf_source *source);

#endif
