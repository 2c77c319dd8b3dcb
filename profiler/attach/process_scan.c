// SPDX-License-Identifier: MIT
#include "profiler/attach/process_scan.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "symbolize/util/array.h"
#include "symbolize/util/proc_file.h"

#define STAT_BYTES 4096
#define STATUS_BYTES 65536
#define OF_KERNEL 0x00200000u /* PF_KTHREAD */

bool scanned_process_parse(const char *text, struct scanned_process *p)
{
	const char *comm = strchr(text, '('), *end = strrchr(text, ')'); /* comm may contain any */
	unsigned int flags;
	char state;

	*p = (struct scanned_process){0};
	if (!comm || !end || end < comm || sscanf(text, "%d", &p->pid) != 1)
		return false;
	snprintf(p->comm, sizeof(p->comm), "%.*s", (int)(end - comm - 1), comm + 1);
	/* proc(5): state, ppid, pgrp, session, tty, tpgid, flags, 10 counts, threads, 0, start */
	if (sscanf(end + 1,
		   " %c %d %*d %*d %*d %*d %u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %u %*d "
		   "%" SCNu64,
		   &state, &p->parent, &flags, &p->threads, &p->start_ticks) != 5)
		return false;
	p->is_kernel = flags & OF_KERNEL;
	/* an ended first thread looks like a zombie, except for the number of threads */
	p->has_ended = (state == 'Z' || state == 'X') && p->threads <= 1;
	return true;
}

int scanned_process_read(pid_t pid, struct scanned_process *process)
{
	char *text = NULL;
	size_t size;
	bool is_known;

	if (proc_file_read(NULL, pid, "stat", STAT_BYTES, &text, &size) != 0)
		return -ESRCH;
	is_known = scanned_process_parse(text, process);
	free(text);
	return is_known ? 0 : -ESRCH;
}

long proc_status_number(const char *status, const char *name, long otherwise)
{
	const char *line = strstr(status, name);

	return line ? strtol(line + strlen(name), NULL, 10) : otherwise;
}

pid_t scanned_process_of(pid_t tid)
{
	char *text = NULL;
	pid_t pid;
	size_t size;

	if (proc_file_read(NULL, tid, "status", STATUS_BYTES, &text, &size) != 0)
		return 0;
	pid = (pid_t)proc_status_number(text, "\nTgid:", 0);
	free(text);
	return pid;
}

static int add(struct process_scan *scan, const struct scanned_process *process)
{
	uint64_t *position = id_map_get(&scan->by_pid, (uint32_t)process->pid);

	if (!position ||
	    !array_make_room(&scan->list, scan->count, &scan->capacity, sizeof(*scan->list)))
		return -ENOMEM;
	*position = scan->count;
	scan->list[scan->count++] = *process;
	return 0;
}

int process_scan_all(struct process_scan *scan)
{
	DIR *folder = opendir("/proc");
	const struct dirent *entry;
	int err = 0;

	if (!folder)
		return -errno;
	scan->count = 0;
	id_map_release(&scan->by_pid);
	scan->by_pid = (struct id_map){0};
	while (!err && (entry = readdir(folder))) {
		struct scanned_process process;
		long pid = strtol(entry->d_name, NULL, 10);

		if (pid > 0 && scanned_process_read((pid_t)pid, &process) == 0)
			err = add(scan, &process);
	}
	closedir(folder);
	return err;
}

void process_scan_release(struct process_scan *scan)
{
	free(scan->list);
	id_map_release(&scan->by_pid);
	*scan = (struct process_scan){0};
}

const struct scanned_process *process_scan_find(const struct process_scan *scan, pid_t pid)
{
	const uint64_t *position = id_map_find(&scan->by_pid, (uint32_t)pid);

	return position ? &scan->list[*position] : NULL;
}
