/* SPDX-License-Identifier: MIT */
/*
 * Files of /proc that tell of one process.
 *
 * Some are made of its memory (cmdline, environ) or of its mappings (maps), and then the reader
 * waits for who has locked these: a thread of the process can, for ever. Others cannot block: comm,
 * status, stat(2) of whatever is there.
 */
#ifndef SYMBOLIZE_PROC_FILE_H
#define SYMBOLIZE_PROC_FILE_H

#include <stddef.h>
#include <sys/types.h>
#include "symbolize/bounded_call.h"

#define PROC_FILE_MAX_MAPS (16u << 20) /* bytes; those of 65530 mappings are some 8 MB */

/*
 * Reads at most `limit` bytes of /proc/PID/`name` into a malloc'd text, followed by a NUL that
 * `*size` does not count: 0, or -errno; -EBUSY or -ETIMEDOUT: not in time (bounded_call.h). With
 * `calls` NULL it is read at once, for what cannot block.
 */
int proc_file_read(struct bounded_caller *calls, pid_t pid, const char *name, size_t limit,
		   char **text, size_t *size);

/* The pid that a living process has in its own pid namespace (pid_namespaces(7)); 0: not known. */
pid_t proc_pid_inside(pid_t pid);

#endif
