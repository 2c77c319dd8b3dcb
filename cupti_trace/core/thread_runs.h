/* SPDX-License-Identifier: MIT */
/*
 * Detects whether another thread of the process has run since it was noted. Unlike a CPU clock,
 * this does not depend on stolen time of a virtual machine (stolen_time.h).
 *
 * Uses a perf event of that thread, if the program may have one. The event counts nothing, but
 * records when the thread gets a CPU and leaves it (perf_event_open(2), PERF_RECORD_SWITCH, since
 * Linux 4.3). So a check is a load. The thread's switches take 1 to 2 us longer.
 *
 * Otherwise it reads how often the thread got a CPU. So it does under a seccomp filter, which may
 * end the program for perf_event_open. The count is the third number of
 * /proc/PID/task/TID/schedstat (Documentation/scheduler/sched-stats.rst). The file stays open, so
 * that a check is one system call. The thread counts as having run if a filter comes before the
 * file is open (guest_is_sandboxed). It also does if the program closes or replaces the file.
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
	/* page of the event, followed by that of its records; NULL: none */
	const volatile struct perf_event_mmap_page *page;
	uint64_t head; /* recorded bytes when it was noted */
	int fd;        /* the file; -1: none */
	dev_t device;
	ino_t inode;
	char text[80];
	uint32_t length; /* length of the noted text; 1 with an event; 0: nothing is noted */
};

/* Initial value: all bits 0 except `fd`. */
#define THREAD_RUNS_NONE \
	{                \
		.fd = -1 \
	}

/*
 * Notes how often the thread has run, if it sleeps. Returns false if it does not, or if that is
 * unknown: then thread_runs_sleeps is false. Without may_read_file it only uses an event.
 */
bool thread_runs_note(struct thread_runs *runs, uint32_t tid, bool may_read_file);

/* Returns whether the thread has slept ever since it was noted. */
bool thread_runs_sleeps(const struct thread_runs *runs);

void thread_runs_close(struct thread_runs *runs);

#endif
