/* SPDX-License-Identifier: MIT */
/*
 * Processes in their own pid namespaces, as in containers: their pids there differ from ours
 * (pid_namespaces(7)).
 */
#ifndef PROFILER_CPU_PID_NAMESPACE_H
#define PROFILER_CPU_PID_NAMESPACE_H

#include <stdint.h>
#include <sys/types.h>

/* A namespace, by inode number, and the pid of the process in it. */
struct pid_namespace {
	uint64_t id; /* 0: unknown, the process may have ended */
	pid_t inner;
};

#define PID_NAMESPACE_HIDDEN UINT64_MAX /* id of a namespace that we may not read */

/* Our own; id 0: unknown. */
struct pid_namespace pid_namespace_own(void);

/* Returns that of a living process; it does not change during its life. */
struct pid_namespace pid_namespace_of(pid_t pid);

#endif
