/* SPDX-License-Identifier: MIT */
/*
 * The memory of processes that the user may look into, and may not trace because of Yama alone: it
 * lets nobody trace what is not a child (ptrace_scope of 1 and 2). For the symbolizer, which
 * compares text that was moved (symbolize/moved_text.h).
 *
 * The memory is opened with CAP_SYS_PTRACE, which is kept to bring the library in and would open
 * any process. So a thread without capabilities asks the kernel, before and after, whether the user
 * may look into the process, as in security.md. What is open stays that of the program that ran
 * then, and is read without capabilities.
 */
#ifndef PROFILER_ATTACH_USER_MEMORY_H
#define PROFILER_ATTACH_USER_MEMORY_H

#include <sys/types.h>

/*
 * Opens it, with the capabilities of the calling thread. `calls`, a struct bounded_caller, asks.
 * Returns a descriptor of /proc/PID/mem, or -errno; -EACCES: the user may not look into it.
 */
int user_memory_open(void *calls, pid_t pid);

#endif
