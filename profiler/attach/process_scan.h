/* SPDX-License-Identifier: MIT */
/*
 * Lists all processes in our pid namespace by /proc. Nothing here blocks on a process: reading
 * /proc/PID/stat does not take its memory's locks.
 */
#ifndef PROFILER_ATTACH_PROCESS_SCAN_H
#define PROFILER_ATTACH_PROCESS_SCAN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "symbolize/util/id_map.h"

struct scanned_process {
	pid_t pid, parent;
	uint64_t start_ticks; /* since boot, 1/sysconf(_SC_CLK_TCK) s; identifies a reused pid */
	uint32_t threads;
	bool is_kernel; /* kernel thread */
	bool has_ended; /* zombie */
	char comm[64];
};

struct process_scan {
	struct scanned_process *list;
	uint32_t count, capacity;
	struct id_map by_pid; /* pid -> position */
};

/* Parses the text of /proc/PID/stat. Returns false if malformed. */
bool scanned_process_parse(const char *text, struct scanned_process *process);

/* Reads one process, by the id of any of its threads. Returns 0, or -ESRCH if there is none. */
int scanned_process_read(pid_t pid, struct scanned_process *process);

/*
 * Returns the decimal number behind `name`, such as "\nTgid:", in the text of a /proc/PID/status.
 * Returns `otherwise` if there is none.
 */
long proc_status_number(const char *status, const char *name, long otherwise);

/* Returns the process of a thread, or 0 if there is none. */
pid_t scanned_process_of(pid_t tid);

/* Reads all processes at about one moment. Zero-initialise `scan` first. Returns 0 or -errno. */
int process_scan_all(struct process_scan *scan);
void process_scan_release(struct process_scan *scan);

/* Returns a process of the scan, or NULL. */
const struct scanned_process *process_scan_find(const struct process_scan *scan, pid_t pid);

#endif
