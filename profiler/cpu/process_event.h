/* SPDX-License-Identifier: MIT */
/*
 * A process event as the kernel recorded it, passed from sources to collect. Times are
 * CLOCK_MONOTONIC in ns; ids are those of the profiler's own pid namespace.
 */
#ifndef PROFILER_CPU_PROCESS_EVENT_H
#define PROFILER_CPU_PROCESS_EVENT_H

#include <stdint.h>
#include <sys/types.h>
#include "bpf/stack_event.h"
#include "symbolize/code_ref.h"

#define PROCESS_COMM_BYTES 16 /* TASK_COMM_LEN of Linux, with the NUL */

enum process_event_type {
	PROCESS_FORK,   /* a new process `pid` of `parent`; if they are equal, a new thread `tid` */
	PROCESS_EXEC,   /* the process runs another program, named `comm` */
	PROCESS_COMM,   /* thread `tid` is named `comm` */
	PROCESS_MAP,    /* `mapping` is executable */
	PROCESS_EXIT,   /* thread `tid` has ended; the last one ends the process */
	PROCESS_SAMPLE, /* a CPU sample, taken by perf itself */
};

struct process_event {
	uint64_t time_ns;
	enum process_event_type type;
	pid_t pid;
	pid_t tid;
	pid_t parent;
	char comm[PROCESS_COMM_BYTES];
	struct code_mapping mapping;     /* the event owns its path */
	struct stack_snapshot *snapshot; /* owned by the event */
	uint32_t repeats;                /* how often the event comes again */
};

#endif
