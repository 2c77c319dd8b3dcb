/* SPDX-License-Identifier: MIT */
/* Reads files of /proc that describe one thread and cannot block: comm, status, stat, syscall. */
#ifndef SYMBOLIZE_UTIL_PROC_THREAD_H
#define SYMBOLIZE_UTIL_PROC_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * Reads /proc/PID/task/TID/`file` into `text`, cut to `size` - 1 bytes and followed by a NUL.
 * Returns false if the thread has ended or may not be inspected.
 */
bool proc_thread_read(pid_t pid, pid_t tid, const char *file, char *text, size_t size);

/*
 * Returns the letter of the thread's state (proc_pid_stat(5)): 'R' runs or waits for a CPU; 0:
 * unknown.
 */
char proc_thread_state(pid_t pid, pid_t tid);

#endif
