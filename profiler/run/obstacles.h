/* SPDX-License-Identifier: MIT */
/*
 * Finds out what keeps the CUDA driver from loading our library in processes that map the driver:
 * looks when that is reported, since a process may end at any time. What it finds is in struct
 * process (`obstacle`) and judged at the process's end (model/untraced.h).
 *
 * The environment in /proc is that of the exec: what a program changes later is not seen. All of a
 * process is read with a deadline, and as its user; one that may not be looked into stays unknown.
 *
 * Also looks whether such processes have a device of the GPU open, which the kernel's side tells
 * exactly when they end, where there is BPF (bpf/open_devices.bpf.h).
 */
#ifndef PROFILER_RUN_OBSTACLES_H
#define PROFILER_RUN_OBSTACLES_H

#include <stdbool.h>
#include <stdint.h>
#include "profiler/base/log.h"
#include "profiler/join/collect.h"

struct obstacles;

struct obstacles_options {
	const char *library, *pipe;  /* the paths that the driver and the library are given */
	uint32_t needed_glibc_minor; /* untraced_glibc_of; 0: unknown */
};

/* All is borrowed. NULL: out of memory. Free takes NULL, and so do the others. */
struct obstacles *obstacles_new(struct collect *collect, struct log *log,
				const struct obstacles_options *options);
void obstacles_free(struct obstacles *o);

/*
 * An event of a process of the tree, after it was taken in. Looks at the process, or leaves that to
 * obstacles_look where others have taken 0.1 s since its last call.
 */
void obstacles_watch(struct obstacles *o, const struct process_event *event,
		     struct process *process);

/*
 * To be called often: looks again at a process after 0.1 s, then each time after twice as long, to
 * a minute, for 0.1 s in each call. Warns of one that uses the GPU when it has run for some seconds
 * so.
 */
void obstacles_look(struct obstacles *o, uint64_t now_ns);

/*
 * To be called often where the kernel reports no processes, which takes eBPF or perf events: looks
 * among the descendants of the command for those that have a device of the GPU open and cannot be
 * traced. It looks after 10 ms and then each time after twice as long, to 3.2 s, so short ones are
 * missed. A look reads /proc/PID/stat of all processes, and the descriptors of descendants: 0.1 s
 * at once, then the next look goes on from there. The pause is at least 4 times as long as a look.
 */
void obstacles_scan(struct obstacles *o, pid_t command, uint64_t now_ns);

/* The run is over: looks at those that go on. */
void obstacles_finish(struct obstacles *o);

#endif
