/* SPDX-License-Identifier: MIT */
/*
 * Renames of a process's threads that nothing has been recorded under yet.
 *
 * A thread may rename itself, or be renamed, at any time (prctl(2) PR_SET_NAME). Outputs show one
 * name for it: the newest that it had while its time was spent. A rename therefore waits here until
 * time of its thread comes that is not earlier. Times are CLOCK_MONOTONIC in ns.
 *
 * Bounded: RENAMES_KEPT for each thread, of which the newest stay, and an quota.
 */
#ifndef PROFILER_CPU_RENAMES_H
#define PROFILER_CPU_RENAMES_H

#include <stdbool.h>
#include <stdint.h>
#include "profiler/base/quota.h"
#include "profiler/cpu/process_event.h"
#include "symbolize/util/id_map.h"

#define RENAMES_KEPT 4u
#define RENAMES_OF_PROCESS 0u /* stands for a thread: renames of the process itself */

/* Zero-initialised is empty. */
struct renames {
	struct id_map by_thread;
};

void renames_release(struct renames *renames, struct quota *quota);

/*
 * Adds a rename of a thread. Renames of one thread come in order of time. Without room it is
 * dropped, which the quota counts. -ENOMEM: out of memory.
 */
int renames_add(struct renames *renames, struct quota *quota, uint32_t thread, uint64_t time_ns,
		const char *comm);

/*
 * Takes out the renames of a thread up to `time_ns` and copies the newest of them. False: there is
 * none.
 */
bool renames_take(struct renames *renames, struct quota *quota, uint32_t thread, uint64_t time_ns,
		  char comm[PROCESS_COMM_BYTES]);

/* Drops the renames of a thread that has ended. */
void renames_forget(struct renames *renames, struct quota *quota, uint32_t thread);

#endif
