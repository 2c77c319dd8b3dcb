/* SPDX-License-Identifier: MIT */
/*
 * Opens files that processes map.
 *
 * A file is searched by its mapping (/proc/PID/map_files, which needs privileges), by its path in
 * the root folder of its process, as the process's executable (even if deleted), and by its path
 * here. The result must be the regular file with the mapping's inode, or, where that is known, with
 * its build id, on whatever machine: no file is better than another one that replaced it. Device
 * numbers are not compared, since btrfs and overlayfs report others in stat(2) than in
 * /proc/PID/maps.
 */
#ifndef SYMBOLIZE_MAPPED_FILE_H
#define SYMBOLIZE_MAPPED_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>
#include "symbolize/code_ref.h"
#include "symbolize/util/bounded_call.h"

#define MAPPED_FILE_DELETED " (deleted)" /* appended by the kernel to such a path */

struct mapped_file {
	pid_t pid;            /* 0: of no process */
	uint64_t start, end;  /* its mapping; 0: unknown */
	uint64_t device;      /* as mapped; 0: unknown */
	uint64_t inode;       /* 0: any */
	const char *build_id; /* NULL: not known */
	const char *path;
	bool was_deleted;
};

struct opened_file {
	int fd; /* or -errno; the caller closes it (bounded_close) */
	struct stat st;
	bool is_elf;     /* by its first bytes */
	bool was_denied; /* an attempt failed for lack of permission */
};

/* The file of a mapping; the path is borrowed. */
struct mapped_file mapped_file_of(pid_t pid, const struct code_mapping *mapping);

/* Skips devices and processes on which an open has blocked before. */
void mapped_file_open(struct bounded_caller *calls, const struct mapped_file *mapped,
		      struct opened_file *file);

#endif
