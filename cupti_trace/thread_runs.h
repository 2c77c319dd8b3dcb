/* SPDX-License-Identifier: MIT */
/*
 * Whether another thread of the process has run since: by how often it has been given a CPU, which
 * the kernel counts where it also adds up waiting times (the third number of
 * /proc/PID/task/TID/schedstat, Documentation/scheduler/sched-stats.rst). Unlike a CPU clock it
 * does not depend on what a host takes away from a virtual machine (stolen_time.h).
 *
 * The file stays open, so that a look is one system call. Should the program close it, or put a
 * file of its own in its place, the thread counts as one that has run. Not thread-safe.
 */
#ifndef CUPTI_TRACE_THREAD_RUNS_H
#define CUPTI_TRACE_THREAD_RUNS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct thread_runs {
	int fd; /* -1: none */
	uint32_t tid;
	dev_t device; /* of the file */
	ino_t inode;
	uint32_t length; /* 0: nothing is noted */
	char text[80];
};

#define THREAD_RUNS_NONE \
	{                \
		.fd = -1 \
	}

/*
 * Notes how often the thread has run, if it sleeps. False: it does not, or that cannot be found
 * out; then thread_runs_sleeps is false.
 */
bool thread_runs_note(struct thread_runs *runs, uint32_t tid);

/* Whether it has slept ever since it was noted. */
bool thread_runs_sleeps(const struct thread_runs *runs);

void thread_runs_close(struct thread_runs *runs);

#endif
