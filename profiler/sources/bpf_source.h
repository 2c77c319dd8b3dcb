/* SPDX-License-Identifier: MIT */
/*
 * The BPF side as seen from here: loading, sampling clocks, probes, the ring buffer.
 *
 * Sampling is by one software clock a CPU, filtered to the target's process tree in the kernel, so
 * that threads and processes too short-lived to fill a period of their own are seen in proportion.
 *
 * bpf_source_open does all that needs CAP_PERFMON and CAP_BPF from the start: after it, a process
 * that has kept these two, as any user, can do the rest, but for probes before Linux 6.10. A clock
 * takes one descriptor a CPU.
 */
#ifndef PROFILER_SOURCES_BPF_SOURCE_H
#define PROFILER_SOURCES_BPF_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "bpf/stack_event.h"

struct bpf_source;

struct bpf_source_options {
	uint32_t sample_hz; /* 0: no CPU samples */
	bool launches;      /* PROBE_LAUNCH will be used */
	bool calls;         /* PROBE_CALL and PROBE_SUBSCRIBE may be */
	bool python_lines;  /* code objects come with their lines */
	bool single_probes; /* one link for each probe, as kernels before 6.10 need it */
};

enum bpf_source_probe {
	PROBE_LAUNCH,    /* entries: STACK_EVENT_LAUNCH, of followed processes that are not timed */
	PROBE_CALL,      /* entries and returns: STACK_EVENT_CALL, of those that are timed */
	PROBE_SUBSCRIBE, /* returns of cuptiSubscribe: STACK_EVENT_REFUSED, of all followed */
};

/*
 * Loads the programs, follows the process tree, and starts the sampling clocks: samples come of
 * what is followed. On failure returns NULL and explains in `error`, a whole sentence for the user.
 */
struct bpf_source *bpf_source_open(const struct bpf_source_options *options, char *error,
				   size_t error_size);
void bpf_source_close(struct bpf_source *source);

/* No more samples from now on; those taken stay in the ring buffer. */
void bpf_source_stop_clocks(struct bpf_source *source);

/* Follows `pid` and all its descendants from now on. 0 or -errno. */
int bpf_source_track(struct bpf_source *source, pid_t pid);

/* Whether `pid` is one of the processes that are followed. */
bool bpf_source_follows(const struct bpf_source *source, pid_t pid);

/*
 * From now on stacks of `pid` carry its Python frames, read as `python` says, and its code objects
 * are sent; NULL: no longer, as when it executes another program. 0 or -errno, -ESRCH if `pid` is
 * not followed (any more).
 */
int bpf_source_set_python(struct bpf_source *source, pid_t pid, const struct stack_python *python);

/* Whether calls can be timed: they were asked for. */
bool bpf_source_has_calls(const struct bpf_source *source);

/*
 * Whether this kernel's return probes can do no harm: not on Linux 6.11 to 6.13, where a return
 * probe is a system call that a filter (seccomp) kills the process for.
 */
bool bpf_source_may_probe_returns(void);

/* From now on the calls of `pid` are timed (or not) where PROBE_CALL are. 0 or -errno. */
int bpf_source_time_calls(struct bpf_source *source, pid_t pid, bool on);

/*
 * Puts probes on a file: `offsets[i]` in the file, reported as function `functions[i]`
 * (cuda_functions.h). `path` may be any path that leads to the file now. Only in the process `pid`,
 * until bpf_source_remove_probes; 0: in all that map the file. 0 or -errno.
 */
int bpf_source_probe(struct bpf_source *source, enum bpf_source_probe probe, pid_t pid,
		     const char *path, const uint64_t *offsets, const uint64_t *functions,
		     uint32_t count);

/* Whether probes are or were on anything: other stacks than samples may come. */
bool bpf_source_has_probes(const struct bpf_source *source);

/* Whether probes need CAP_SYS_ADMIN too: single ones do, and kernels before 6.10 have no others. */
bool bpf_source_probes_need_admin(const struct bpf_source *source);

/* Takes back the probes that are in this process only. */
void bpf_source_remove_probes(struct bpf_source *source, pid_t pid);

/* Readable when much has accumulated; look on a timer as well. */
int bpf_source_fd(const struct bpf_source *source);

/*
 * What is in the ring buffer is handed out in batches: what is there at bpf_source_fill, at most
 * BPF_SOURCE_BATCH bytes. What processes did before that is recorded before it.
 */
#define BPF_SOURCE_BATCH (32u << 20)
void bpf_source_fill(struct bpf_source *source);

/*
 * The batch's next event, or NULL at its end. Its size, kind and counts are checked. It lies in the
 * ring buffer, which takes its room back at the next call.
 */
const struct stack_event *bpf_source_next(struct bpf_source *source);

/* At the end of a batch: more is in the ring buffer, older than what comes from now on. */
bool bpf_source_has_more(const struct bpf_source *source);

struct stack_counters bpf_source_counters(const struct bpf_source *source);

#endif
