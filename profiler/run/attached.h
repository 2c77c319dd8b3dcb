/* SPDX-License-Identifier: MIT */
/*
 * A run of processes that run already, in place of a command: from finding them (attach.h) to the
 * goodbyes of the libraries that were brought into them.
 */
#ifndef PROFILER_RUN_ATTACHED_H
#define PROFILER_RUN_ATTACHED_H

#include "profiler/run/run_parts.h"

/*
 * Opens the run's inputs, gives up privilege, and finds the processes. 0, or -1 after logging the
 * reason.
 */
int attached_open(struct run_parts *run);

/* Follows all of them: the run goes. 0, or not after logging the reason. */
int attached_follow(struct run_parts *run);

/*
 * While the run goes: returns whether it is over: `is_told_to`, the time is over, or none of the
 * processes is left. Then libraries are asked to leave. The kernel keeps those whose parents do
 * not wait for them.
 */
bool attached_end_if_over(struct run_parts *run, bool is_told_to);

/* Whether no library is at work in the processes any more, or is waited for no longer. */
bool attached_have_left(struct run_parts *run);

#endif
