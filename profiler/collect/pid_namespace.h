/* SPDX-License-Identifier: MIT */
/*
 * Processes in pid namespaces of their own, as containers have them: they know themselves by
 * another number than we do (pid_namespaces(7)).
 */
#ifndef PROFILER_COLLECT_PID_NAMESPACE_H
#define PROFILER_COLLECT_PID_NAMESPACE_H

#include <stdint.h>
#include <sys/types.h>

/* Where a process is: a namespace by its inode number, and its own number there. */
struct pid_namespace {
	uint64_t id; /* 0: not known, the process may have ended */
	pid_t inner;
};

#define PID_NAMESPACE_HIDDEN UINT64_MAX /* the id of one that we may not look into */

/* Our own; id 0: not known. */
struct pid_namespace pid_namespace_own(void);

/* Of a living process; it stays there as long as it lives. */
struct pid_namespace pid_namespace_of(pid_t pid);

#endif
