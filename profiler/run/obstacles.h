/* SPDX-License-Identifier: MIT */
/*
 * Finds out what prevents the CUDA driver from loading our library in processes that map the
 * driver. Processes are inspected when the mapping is reported, since they may end at any time. The
 * finding goes to `obstacle` in struct process and is judged when the process ends
 * (model/untraced.h).
 *
 * /proc shows the environment at exec; later changes by the program are not seen. All reads have a
 * deadline and use the user's rights. A process that the user may not inspect stays unknown.
 *
 * The module also checks whether such processes have a GPU device open. Where BPF is available, the
 * kernel side reports that exactly when they end (bpf/open_devices.bpf.h).
 */
#ifndef PROFILER_RUN_OBSTACLES_H
#define PROFILER_RUN_OBSTACLES_H

#include <stdint.h>
#include "profiler/base/log.h"
#include "profiler/join/collect.h"

struct obstacles;

struct obstacles_options {
	const char *library, *pipe;  /* paths that the driver and the library get */
	uint32_t needed_glibc_minor; /* untraced_glibc_of; 0: unknown */
};

/*
 * Makes the watcher; pointers are borrowed. Returns NULL when out of memory. All functions below
 * accept NULL.
 */
struct obstacles *obstacles_new(struct collect *collect, struct log *log,
				const struct obstacles_options *options);
void obstacles_free(struct obstacles *o);

/*
 * Handles an event of a followed process, after `collect`. Inspects the process, or defers that to
 * obstacles_look if other inspections took 0.1 s since that function's last call.
 */
void obstacles_watch(struct obstacles *o, const struct process_event *event,
		     struct process *process);

/*
 * Inspects processes again that are due: after 0.1 s, then with the pause doubled up to a minute.
 * Takes 0.1 s per call at most, and is to be called often. Warns of a process that has used the GPU
 * untraced for some seconds.
 */
void obstacles_look(struct obstacles *o, uint64_t now_ns);

/*
 * Replaces the kernel's reports where neither eBPF nor perf events are available. Searches the
 * command's descendants for untraceable ones that have a GPU device open. To be called often.
 * Scans after 10 ms, then with the pause doubled up to 3.2 s, so short processes are missed. A scan
 * reads /proc/PID/stat of all processes and the descriptors of descendants. It stops after 0.1 s
 * and resumes there next time. The pause is at least 4 times as long as the scan.
 */
void obstacles_scan(struct obstacles *o, pid_t command, uint64_t now_ns);

/* Inspects the processes that outlive the run, at its end. */
void obstacles_finish(struct obstacles *o);

#endif
