/* SPDX-License-Identifier: MIT */
/*
 * Keeps renames of a process's threads until time is recorded under the new name.
 *
 * A thread may rename itself, or be renamed, at any time (prctl(2) PR_SET_NAME). Outputs show one
 * name for a thread: the newest that it had while it spent time. So a rename waits here until the
 * thread spends time after it. Times are CLOCK_MONOTONIC in ns.
 *
 * Each thread keeps its newest RENAMES_KEPT renames, charged to a quota.
 */
#ifndef PROFILER_CPU_RENAMES_H
#define PROFILER_CPU_RENAMES_H

#include <stdbool.h>
#include <stdint.h>
#include "profiler/base/quota.h"
#include "profiler/cpu/process_event.h"
#include "symbolize/util/id_map.h"

#define RENAMES_KEPT 4u
#define RENAMES_OF_PROCESS 0u /* thread id that stands for the process itself */

/* Zero-initialised is empty. */
struct renames {
	struct id_map by_thread;
};

void renames_release(struct renames *renames, struct quota *quota);

/*
 * Adds a rename. Renames of one thread come in order of time. A rename over the quota is dropped,
 * and counted by the quota. Returns 0, or -ENOMEM.
 */
int renames_add(struct renames *renames, struct quota *quota, uint32_t thread, uint64_t time_ns,
		const char *comm);

/*
 * Removes the thread's renames up to `time_ns`, and copies the newest of them. Returns false if
 * there is none.
 */
bool renames_take(struct renames *renames, struct quota *quota, uint32_t thread, uint64_t time_ns,
		  char comm[PROCESS_COMM_BYTES]);

/* Drops the renames of a thread that has ended. */
void renames_forget(struct renames *renames, struct quota *quota, uint32_t thread);

#endif
