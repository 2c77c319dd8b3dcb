/* SPDX-License-Identifier: MIT */
/*
 * Whether another thread of the process has run since. Unlike a CPU clock this does not depend on
 * what a host takes away from a virtual machine (stolen_time.h).
 *
 * Where the program may have perf events: by an event of that thread that counts nothing, but
 * records when the thread gets a CPU and when it leaves it (perf_event_open(2),
 * PERF_RECORD_SWITCH, since Linux 4.3), so a look is a load. The thread's switches take 1 to 2 us
 * longer.
 *
 * Elsewhere, and under a seccomp filter, which may end the program for a system call: by how often
 * it has been given a CPU, which the kernel counts where it also adds up waiting times (the third
 * number of /proc/PID/task/TID/schedstat, Documentation/scheduler/sched-stats.rst). The file stays
 * open, so that a look is one system call. Should a filter come before it is open
 * (guest_is_shut_in), or the program close it, or put a file of its own in
 * its place, the thread counts as one that has run.
 *
 * Not thread-safe. In a child made by fork all threads count as having run.
 */
#ifndef CUPTI_TRACE_CORE_THREAD_RUNS_H
#define CUPTI_TRACE_CORE_THREAD_RUNS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct perf_event_mmap_page;

struct thread_runs {
	uint32_t tid;
	/* of the event; its records are on the next one. NULL: there is none */
	const volatile struct perf_event_mmap_page *page;
	uint64_t head; /* how much has been recorded, as noted */
	int fd;        /* of the file; -1: none */
	dev_t device;
	ino_t inode;
	char text[80];
	uint32_t length; /* of it; with an event 1. 0: nothing is noted */
};

/* To begin with; all bits 0 but `fd`. */
#define THREAD_RUNS_NONE \
	{                \
		.fd = -1 \
	}

/*
 * Notes how often the thread has run, if it sleeps. False: it does not, or that cannot be found
 * out; then thread_runs_sleeps is false. Without may_read_file only by an event.
 */
bool thread_runs_note(struct thread_runs *runs, uint32_t tid, bool may_read_file);

/* Returns whether it has slept ever since it was noted. */
bool thread_runs_sleeps(const struct thread_runs *runs);

void thread_runs_close(struct thread_runs *runs);

#endif
