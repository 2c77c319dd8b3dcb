/* SPDX-License-Identifier: MIT */
/*
 * Files of /proc that describe one process.
 *
 * Some come from its memory (cmdline, environ) or its mappings (maps); reading these waits for
 * locks that a thread of the process can hold for ever. Others cannot block: comm, status, stat(2)
 * of any file.
 */
#ifndef SYMBOLIZE_UTIL_PROC_FILE_H
#define SYMBOLIZE_UTIL_PROC_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include "symbolize/util/bounded_call.h"

#define PROC_FILE_MAX_MAPS (16u << 20) /* bytes; 65530 mappings are about 8 MB */

/*
 * Reads at most `limit` bytes of /proc/PID/`name` into a malloc'd text, followed by a NUL that
 * `*size` does not include: 0, or -errno; -EBUSY or -ETIMEDOUT: not in time (bounded_call.h).
 * `calls` NULL reads directly, for files that cannot block. Where the first thread has ended and
 * others run, what comes from their memory is read as that of one of them.
 */
int proc_file_read(struct bounded_caller *calls, pid_t pid, const char *name, size_t limit,
		   char **text, size_t *size);

/* The pid of a living process in its own pid namespace (pid_namespaces(7)); 0: unknown. */
pid_t proc_pid_inside(pid_t pid);

/* Likewise the id of a thread. */
pid_t proc_tid_inside(pid_t pid, pid_t tid);

#endif
