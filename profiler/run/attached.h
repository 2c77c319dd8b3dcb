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

/* Follows all of them, from which the run is going. Not 0: after logging the reason. */
int attached_follow(struct run_parts *run);

/*
 * Returns whether a run that is going is over: `is_told_to`, its time is over, or none of the
 * processes is left. Then libraries are asked to leave.
 */
bool attached_end_if_over(struct run_parts *run, bool is_told_to);

/* Returns whether no library is at work in the processes any more, or is waited for no longer. */
bool attached_have_left(struct run_parts *run);

#endif
