/* SPDX-License-Identifier: MIT */
/*
 * The processes that there are, as /proc lists them in our pid namespace. Nothing here waits for a
 * process: /proc/PID/stat does not take the locks of its memory.
 */
#ifndef PROFILER_ATTACH_PROCESS_SCAN_H
#define PROFILER_ATTACH_PROCESS_SCAN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "symbolize/util/id_map.h"

struct scanned_process {
	pid_t pid, parent;
	uint64_t
		start_ticks; /* since boot, of sysconf(_SC_CLK_TCK): tells users of one pid apart */
	uint32_t threads;
	bool is_kernel; /* a thread of the kernel */
	bool has_ended; /* it waits for its parent to notice */
	char comm[64];
};

struct process_scan {
	struct scanned_process *list;
	uint32_t count, capacity;
	struct id_map by_pid; /* pid -> position */
};

/* Parses the text of /proc/PID/stat. False: it is not one. */
bool scanned_process_parse(const char *text, struct scanned_process *process);

/* One process; also by the id of another of its threads. 0, or -ESRCH: there is none. */
int scanned_process_read(pid_t pid, struct scanned_process *process);

/* The process that this thread is of; 0: there is none. */
pid_t scanned_process_of(pid_t tid);

/* All processes at about the same moment. Zero-initialise before the first. 0 or -errno. */
int process_scan_all(struct process_scan *scan);
void process_scan_release(struct process_scan *scan);

/* NULL: it was not there. */
const struct scanned_process *process_scan_find(const struct process_scan *scan, pid_t pid);

#endif
