/* SPDX-License-Identifier: MIT */
/*
 * Runs the profile of processes that already run (-p, --name, --cgroup): from finding the
 * processes (attach.h) to the goodbyes of the libraries that were injected into them.
 */
#ifndef PROFILER_RUN_ATTACHED_H
#define PROFILER_RUN_ATTACHED_H

#include "profiler/run/run_parts.h"

/*
 * Opens the run's inputs, gives up privilege, and finds the processes. Returns 0, or -1 after
 * logging the reason.
 */
int attached_open(struct run_parts *run);

/* Looks for further processes now and then (--every): they match --name or --cgroup by now. */
void attached_look_again(struct run_parts *run);

/* Follows all processes and starts the run. Returns nonzero after logging the reason. */
int attached_follow(struct run_parts *run);

/*
 * Returns true once the run is over: on `is_told_to`, at the end of its duration, or when no
 * process is left. Then asks the libraries to leave.
 */
bool attached_end_if_over(struct run_parts *run, bool is_told_to);

/* Returns true once no library is active in the processes, or its timeout has passed. */
bool attached_libraries_left(struct run_parts *run);

#endif
