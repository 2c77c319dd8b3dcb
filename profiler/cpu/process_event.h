/* SPDX-License-Identifier: MIT */
/*
 * Defines a process event, passed from the sources to collect.
 *
 * Times are CLOCK_MONOTONIC in ns. Ids are those of the profiler's own pid namespace.
 */
#ifndef PROFILER_CPU_PROCESS_EVENT_H
#define PROFILER_CPU_PROCESS_EVENT_H

#include <stdint.h>
#include <sys/types.h>
#include "bpf/stack_event.h"
#include "symbolize/code_ref.h"

#define PROCESS_COMM_BYTES 16 /* TASK_COMM_LEN of Linux, with the NUL */

enum process_event_type {
	PROCESS_FORK,   /* new process `pid` of `parent`; if both are equal, new thread `tid` */
	PROCESS_EXEC,   /* the process executes another program, named `comm` */
	PROCESS_COMM,   /* thread `tid` is named `comm` */
	PROCESS_MAP,    /* `mapping` is executable */
	PROCESS_EXIT,   /* thread `tid` has ended; the last one ends the process */
	PROCESS_SAMPLE, /* CPU sample taken by perf */
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
	uint32_t repeats;                /* number of further deliveries of the event */
};

#endif
