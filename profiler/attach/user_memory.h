/* SPDX-License-Identifier: MIT */
/*
 * Opens the memory of processes that the user may inspect, but not trace because of Yama:
 * ptrace_scope 1 and 2 allow only children. The symbolizer compares moved text with it
 * (symbolize/moved_text.h).
 *
 * Opening uses CAP_SYS_PTRACE, which is kept for injection and would open any process. So a thread
 * without capabilities asks the kernel, before and after, whether the user may inspect the process
 * (security.md). The descriptor stays with the program that ran then, and is read without
 * capabilities.
 */
#ifndef PROFILER_ATTACH_USER_MEMORY_H
#define PROFILER_ATTACH_USER_MEMORY_H

#include <sys/types.h>

/*
 * Opens the memory with the calling thread's capabilities. `calls`, a struct bounded_caller, checks
 * the user's right. Returns a descriptor of /proc/PID/mem, -EACCES if the user may not inspect the
 * process, or another -errno.
 */
int user_memory_open(void *calls, pid_t pid);

#endif
