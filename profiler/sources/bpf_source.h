/* SPDX-License-Identifier: MIT */
/*
 * The BPF side as seen from here: loading, sampling clocks, probes, the ring buffer.
 *
 * Sampling is by one software clock a CPU, filtered to the target's process tree in the kernel, so
 * that threads and processes too short-lived to fill a period of their own are seen in proportion.
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
};

enum bpf_source_probe {
	PROBE_LAUNCH,    /* entries: STACK_EVENT_LAUNCH, of all followed processes */
	PROBE_CALL,      /* entries and returns: STACK_EVENT_CALL, of those that are timed */
	PROBE_SUBSCRIBE, /* returns of cuptiSubscribe: STACK_EVENT_REFUSED, of all followed */
};

/*
 * Loads the programs and follows the process tree; sampling starts with bpf_source_start. On
 * failure returns NULL and explains in `error`, a whole sentence for the user.
 */
struct bpf_source *bpf_source_open(const struct bpf_source_options *options, char *error,
				   size_t error_size);
void bpf_source_close(struct bpf_source *source);

/* Follows `pid` and all its descendants from now on. 0 or -errno. */
int bpf_source_track(struct bpf_source *source, pid_t pid);

/*
 * From now on samples of `pid` carry its Python frames, read as `python` says; NULL: no longer. 0
 * or -errno.
 */
int bpf_source_set_python(struct bpf_source *source, pid_t pid, const struct stack_python *python);

/* Whether calls can be timed: they were asked for, and this kernel gives what it takes. */
bool bpf_source_has_calls(const struct bpf_source *source);

/*
 * Whether this kernel's return probes can do no harm: not on Linux 6.11 to 6.13, where a return
 * probe is a system call that a filter (seccomp) kills the process for.
 */
bool bpf_source_may_probe_returns(void);

/* Whether `pid` is one of the processes that are followed. */
bool bpf_source_follows(const struct bpf_source *source, pid_t pid);

/* From now on the calls of `pid` are timed (or not) where PROBE_CALL are. 0 or -errno. */
int bpf_source_time_calls(struct bpf_source *source, pid_t pid, bool on);

/* Starts the sampling clocks. 0 or -errno, explained in `error`. */
int bpf_source_start(struct bpf_source *source, char *error, size_t error_size);

/*
 * Puts probes on a file: `offsets[i]` in the file, reported as function `functions[i]` (for
 * launches enum launch_function, | LAUNCH_PTSZ). `path` may be any path that leads to the file now.
 * Only in the process `pid`, until bpf_source_remove_probes; 0: in all that map the file. 0 or
 * -errno.
 */
int bpf_source_probe(struct bpf_source *source, enum bpf_source_probe probe, pid_t pid,
		     const char *path, const uint64_t *offsets, const uint64_t *functions,
		     uint32_t count);

/* Takes back the probes that are in this process only. */
void bpf_source_remove_probes(struct bpf_source *source, pid_t pid);

/* Readable when much has accumulated; drain on a timer as well. */
int bpf_source_fd(const struct bpf_source *source);

/*
 * Hands over everything in the ring buffer. `frames` are event->user_frames + kernel_frames, but
 * for those kinds where `event` is the head of a struct stack_snapshot.
 */
typedef void (*bpf_source_handler)(void *context, const struct stack_event *event,
				   const __u64 *frames);
/* False: stopped after some BPF_SOURCE_BATCH bytes, there is more. */
#define BPF_SOURCE_BATCH (32u << 20)
bool bpf_source_drain(struct bpf_source *source, bpf_source_handler handler, void *context);

struct stack_counters bpf_source_counters(const struct bpf_source *source);

#endif
