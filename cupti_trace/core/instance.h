/* SPDX-License-Identifier: MIT */
/*
 * Identifies this process and the program in it. Sent in the hello, so that the profiler does not
 * rely on the pid. Read from the kernel; locks and allocates nothing.
 */
#ifndef CUPTI_TRACE_CORE_INSTANCE_H
#define CUPTI_TRACE_CORE_INSTANCE_H

#include <stdint.h>

struct instance {
	uint64_t id;            /* random, not 0; another one at each call */
	uint64_t pid_namespace; /* inode number of /proc/self/ns/pid; 0: unknown */
	uint64_t start_ticks;   /* field 22 of /proc/self/stat (proc(5)); 0: unknown */
};

/* Fills in all members for the calling process, with a new id. */
void instance_describe(struct instance *instance);

#endif
