/* SPDX-License-Identifier: MIT */
/*
 * Runs code in child processes without capabilities, for libraries that profile does not link
 * (NSS modules, libcurl). Only a process with capabilities can inspect such a child.
 *
 * The child keeps the ids of its parent. Lookups that decide what root does run with uid 0: the
 * user could control a process of their own.
 */
#ifndef PROFILER_RUN_ISOLATED_CHILD_H
#define PROFILER_RUN_ISOLATED_CHILD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define ISOLATED_CHILD_END_MS 200 /* timeout for a killed child to end */

/*
 * Redirects standard descriptors to /dev/null and closes all others but `*fd`, which becomes 3. To
 * be called in a child. Returns false on failure.
 */
bool isolated_child_keep_only(int *fd);

/*
 * Isolates the calling child: keeps only `*fd` as above, blocks all signals, and gives up all
 * capabilities for good. The child gets SIGKILL when the parent's forking thread ends. Call while
 * the child is single-threaded. Returns 0 or -errno; the child must exit on error.
 */
int isolated_child_begin(int *fd, pid_t parent);

/* Kills a child and waits for its end, for ISOLATED_CHILD_END_MS at most. */
void isolated_child_end(pid_t child);

/*
 * Runs `task` in an isolated child. `shared` points to memory mapped MAP_SHARED. Returns 0,
 * -ETIMEDOUT if the child was killed after `timeout_ms`, -ECHILD if the child ended early, or
 * another -errno.
 */
int isolated_child_run(void (*task)(void *shared), void *shared, int64_t timeout_ms);

#endif
