/* SPDX-License-Identifier: MIT */
/*
 * Reads files of /proc that describe one process or thread.
 *
 * Some come from its memory (cmdline, environ) or its mappings (maps). Reading these waits for
 * locks that a thread of the process can hold for ever. Others cannot block: comm, status, and
 * stat(2) of any file, and of a thread also stat and syscall.
 */
#ifndef SYMBOLIZE_UTIL_PROC_FILE_H
#define SYMBOLIZE_UTIL_PROC_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include "symbolize/util/bounded_call.h"

#define PROC_FILE_MAX_MAPS (16u << 20) /* bytes; 65530 mappings are about 8 MB */

/*
 * Reads at most `limit` bytes of /proc/PID/`name` into a malloc'd text. A NUL follows that `*size`
 * does not include. `calls` NULL reads directly, for files that cannot block. If the first thread
 * has ended and others run, reads files about its memory as another thread's. Returns 0 or -errno;
 * -EBUSY or -ETIMEDOUT: not in time (bounded_call.h).
 */
int proc_file_read(struct bounded_caller *calls, pid_t pid, const char *name, size_t limit,
		   char **text, size_t *size);

/* Returns the pid of a living process in its own pid namespace (pid_namespaces(7)); 0: unknown. */
pid_t proc_pid_inside(pid_t pid);

/* Returns the id of a thread in its own pid namespace; 0: unknown. */
pid_t proc_tid_inside(pid_t pid, pid_t tid);

/*
 * Reads /proc/PID/task/TID/`file`, which cannot block, into `text`, cut to `size` - 1 bytes and
 * followed by a NUL. Returns false if the thread has ended or may not be inspected.
 */
bool proc_thread_read(pid_t pid, pid_t tid, const char *file, char *text, size_t size);

/*
 * Returns the letter of the thread's state (proc_pid_stat(5)): 'R' runs or waits for a CPU; 0:
 * unknown.
 */
char proc_thread_state(pid_t pid, pid_t tid);

#endif
