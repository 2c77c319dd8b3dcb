/* SPDX-License-Identifier: MIT */
/*
 * The user-space side of BPF: loading, sampling clocks, probes, the ring buffer.
 *
 * Sampling uses one software clock per CPU, filtered to the target's process tree in the kernel, so
 * that threads and processes shorter than a sampling period are represented in proportion. The
 * clocks tick 2.6 times for each sample: a program's own cycle, if it is as long as the sampling
 * period or a simple fraction of it, would otherwise meet all samples at one place. On each CPU,
 * each sampling period of time that the tree has run has one sample, each at another place in it.
 *
 * bpf_source_open does everything that needs more than CAP_PERFMON and CAP_BPF; afterwards a
 * process that has kept these two, as any user, can do the rest, except probes before Linux 6.10.
 * Each clock takes one descriptor per CPU.
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

struct bpf_source_options {
	uint32_t sample_hz; /* 0: no CPU samples */
	bool launches;      /* PROBE_LAUNCH will be used */
	bool calls;         /* all but PROBE_LAUNCH may be */
	bool threads;       /* STACK_EVENT_THREAD: what creates threads */
	bool times;         /* where threads' time goes: OFF_CPU, ON_CPU, THREAD_TIMES */
	bool moments;       /* with times: an ON_CPU for each that is not short, stack or not */
	bool kernel_waits;  /* OFF_CPU with the kernel's frames */
	bool running;       /* processes that already run will be followed */
	bool python_lines;  /* send code objects with their lines */
	bool single_probes; /* one link per probe, as kernels before 6.10 require */
	bool without_casts; /* with times: the program at switches as for kernels before 6.2 */
};

enum bpf_source_probe {
	PROBE_LAUNCH,    /* entries: STACK_EVENT_LAUNCH, from followed, not timed processes */
	PROBE_CALL,      /* entries and returns: STACK_EVENT_CALL, from timed processes */
	PROBE_SUBSCRIBE, /* returns of cuptiSubscribe: STACK_EVENT_REFUSED, from all followed */
	PROBE_DRIVER,    /* entries of the driver: STACK_EVENT_USES_DRIVER, from all followed */
};

/*
 * Loads the programs, and starts following the process tree and the sampling clocks. On failure
 * returns NULL and explains in `error`, a whole sentence for the user.
 */
struct bpf_source *bpf_source_open(const struct bpf_source_options *options, char *error,
				   size_t error_size);
void bpf_source_close(struct bpf_source *source);

/*
 * The time is `now_ns` (CLOCK_MONOTONIC): changes how often the clocks tick, once a second. Samples
 * stay as many.
 */
void bpf_source_vary_clocks(struct bpf_source *source, uint64_t now_ns);

/*
 * Takes samples within this time alone, and launches that may have work in it; a tick or launch
 * outside costs next to nothing.
 */
void bpf_source_set_time_range(struct bpf_source *source, const struct time_range *time_range);

/* Stops sampling; samples already taken stay in the ring buffer. */
void bpf_source_stop_clocks(struct bpf_source *source);

/*
 * Threads' times end here; of those that end afterwards, THREAD_TIMES is flagged. Then: where the
 * time of each other thread went so far, each once, in no order. False after the last. The counters
 * count threads as lost until their times have been taken either way.
 */
void bpf_source_stop_times(struct bpf_source *source);
bool bpf_source_next_times(struct bpf_source *source, struct stack_times *times);

/* Then: whether some have come neither way yet. Threads that are about to end are in no list. */
bool bpf_source_lacks_times(const struct bpf_source *source);

/*
 * Follows `pid` and all its descendants from now on. The user whose processes may be looked into
 * (bpf/access.bpf.h) is the one that the calling thread runs as at the first call. 0 or -errno.
 */
int bpf_source_track(struct bpf_source *source, pid_t pid);

/*
 * With `times` and `running`: the times of all threads of followed processes begin now. 0 or
 * -errno; -EOPNOTSUPP before Linux 6.1.
 */
int bpf_source_follow_threads(struct bpf_source *source);

/* No longer follows `pid` itself: another process had it. */
void bpf_source_untrack(struct bpf_source *source, pid_t pid);

/* Returns whether any process is followed. */
bool bpf_source_follows_any(const struct bpf_source *source);

/* Returns whether `pid` is followed. */
bool bpf_source_follows(const struct bpf_source *source, pid_t pid);

/*
 * From now on stacks of `pid` include its Python frames, read according to `python`, and its code
 * objects are sent, as long as it runs the program that `python` is of. 0 or -errno; -ESRCH if
 * `pid` is not followed (any more).
 */
int bpf_source_set_python(struct bpf_source *source, pid_t pid, const struct stack_python *python);

/* Returns whether calls can be timed, i.e. `calls` was set. */
bool bpf_source_has_calls(const struct bpf_source *source);

/*
 * Returns whether return probes are safe on this kernel: not on Linux 6.11 to 6.13, where a return
 * probe is a system call for which a filter (seccomp) kills the process.
 */
bool bpf_source_may_probe_returns(void);

/* Starts or stops timing the calls of `pid` where PROBE_CALL is set. 0 or -errno. */
int bpf_source_time_calls(struct bpf_source *source, pid_t pid, bool on);

/*
 * Sets probes in a file: at `offsets[i]`, reported as function `functions[i]` (cuda_functions.h).
 * `path` may be any path that leads to the file now. With `pid`, only in that process, until
 * bpf_source_remove_probes; 0: in all that map the file. 0 or -errno; -ETIMEDOUT, -EBUSY: it takes
 * the kernel too long, which may wait for the file or for processes that map it.
 */
int bpf_source_probe(struct bpf_source *source, enum bpf_source_probe probe, pid_t pid,
		     const char *path, const uint64_t *offsets, const uint64_t *functions,
		     uint32_t count);

/* Returns whether probes are or were set, so that stacks other than samples may come. */
bool bpf_source_has_probes(const struct bpf_source *source);

/*
 * Returns whether probes also need CAP_SYS_ADMIN: single ones do, and kernels before 6.10 have no
 * others.
 */
bool bpf_source_probes_need_admin(const struct bpf_source *source);

/* Removes the probes that are set in this process only. */
void bpf_source_remove_probes(struct bpf_source *source, pid_t pid);

/* Readable when much has accumulated; poll on a timer as well. */
int bpf_source_fd(const struct bpf_source *source);

/*
 * Starts a batch: the ring buffer's current contents, at most BPF_SOURCE_BATCH bytes. The kernel
 * has already recorded what processes did before that.
 */
#define BPF_SOURCE_BATCH (32u << 20)
void bpf_source_fill(struct bpf_source *source);

/*
 * The batch's next event, or NULL at its end. Its size, kind and counts are checked. The next call
 * frees it.
 */
const struct stack_event *bpf_source_next(struct bpf_source *source);

/* Makes room in the ring buffer, if there is little: event_ring_relieve. */
void bpf_source_keep(struct bpf_source *source);

/* After a batch: the ring buffer holds more events, older than this moment. */
bool bpf_source_has_more(const struct bpf_source *source);

struct stack_counters bpf_source_counters(const struct bpf_source *source);

#endif
