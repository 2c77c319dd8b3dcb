/* SPDX-License-Identifier: MIT */
/*
 * Identifies pid namespaces (pid_namespaces(7)), in which the pids of containers differ from ours.
 */
#ifndef PROFILER_CPU_PID_NAMESPACE_H
#define PROFILER_CPU_PID_NAMESPACE_H

#include <stdint.h>
#include <sys/types.h>

/* A namespace, by inode number, and a process's pid in it. */
struct pid_namespace {
	uint64_t id; /* 0 if unknown: the process may have ended */
	pid_t inner;
};

#define PID_NAMESPACE_HIDDEN UINT64_MAX /* id of a namespace that we may not read */

/* Returns our own namespace; id 0 if unknown. */
struct pid_namespace pid_namespace_own(void);

/* Returns the namespace of a living process, which never changes. */
struct pid_namespace pid_namespace_of(pid_t pid);

#endif
