/* SPDX-License-Identifier: MIT */
/*
 * Processes apart: without any capability, for what opens libraries that profile was not linked
 * with (modules of NSS, libcurl). Nobody but a process with capabilities can look into one.
 *
 * Such a process has the ids of who forks it. A lookup that decides what root does is made by one
 * with uid 0: a process of the user's could be controlled by the user.
 */
#ifndef PROFILER_RUN_ISOLATED_CHILD_H
#define PROFILER_RUN_ISOLATED_CHILD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define ISOLATED_CHILD_END_MS 200 /* for a process that was killed to end */

/*
 * In a child: standard descriptors lead nowhere, and all others are closed but `*fd`, whose number
 * becomes 3. False: it cannot be done.
 */
bool isolated_child_keep_only(int *fd);

/*
 * In a child of a process with one thread, or before other threads are needed: does the same,
 * blocks all signals, gives up all capabilities for good, and ends with the parent's thread that
 * forked it. 0 or -errno; the child must end then.
 */
int isolated_child_begin(int *fd, pid_t parent);

/* Kills a child and waits for its end, but not for ever. */
void isolated_child_end(pid_t child);

/*
 * Runs `task` in such a child; `shared`: in memory that both have (MAP_SHARED). 0; -ETIMEDOUT: it
 * took longer, and was killed; -ECHILD: it ended before; or another error.
 */
int isolated_child_run(void (*task)(void *shared), void *shared, int64_t timeout_ms);

#endif
