/* SPDX-License-Identifier: MIT */
/*
 * Opens files that processes map.
 *
 * A file is first looked for by its mapping (/proc/PID/map_files), which needs privileges. Then by
 * its path in the root folder of its process, and by its path here. Last, it may be the process's
 * executable, even if deleted. The result must be a regular file with the mapping's inode, or with
 * its build id where that is known: no file is better than another one that replaced it. Device
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
	pid_t pid;            /* process; 0: none */
	uint64_t start, end;  /* mapping; 0: unknown */
	uint64_t device;      /* device as mapped; 0: unknown */
	uint64_t inode;       /* 0: any */
	const char *build_id; /* NULL: not known */
	const char *path;
	bool was_deleted;
};

struct opened_file {
	int fd; /* descriptor, which the caller closes (bounded_close), or -errno */
	struct stat st;
	bool is_elf;     /* ELF by its first bytes */
	bool was_denied; /* an attempt failed for lack of permission */
};

/* Describes the file of a mapping. The path is borrowed. */
struct mapped_file mapped_file_of(pid_t pid, const struct code_mapping *mapping);

/* Opens a mapped file. Skips devices and processes on which an open has blocked before. */
void mapped_file_open(struct bounded_caller *calls, const struct mapped_file *mapped,
		      struct opened_file *file);

#endif
