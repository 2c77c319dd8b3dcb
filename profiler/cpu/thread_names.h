/* SPDX-License-Identifier: MIT */
/*
 * The names that an interpreter gives the threads of one process (threading.Thread(name=...)), and
 * whether such a name or the kernel's is to be shown.
 *
 * The interpreter's name wins over a name that the kernel's record merely inherited: from the
 * process, or from the thread that made the thread. A name that the program set itself (prctl(2)
 * PR_SET_NAME, pthread_setname_np) wins over the interpreter's, unless it is the start of it:
 * CPython sets it so from 3.14 on.
 *
 * As with the kernel's names (renames.h) the newest one counts that a thread had while its time was
 * spent: a new name waits for time of its thread. The first one counts for all time before. Times
 * are CLOCK_MONOTONIC in ns.
 *
 * Ids of threads are those of the profiler's pid namespace; `inner` is a thread's id in its
 * process's own. Memory counts against an quota; without room a thread has no such name.
 */
#ifndef PROFILER_CPU_THREAD_NAMES_H
#define PROFILER_CPU_THREAD_NAMES_H

#include <stdbool.h>
#include <stdint.h>
#include "profiler/base/quota.h"
#include "profiler/cpu/process_event.h"
#include "symbolize/util/id_map.h"

#define THREAD_NAMES_ENDED 64u

/* Zero-initialised is empty, without a limit. */
struct thread_names {
	struct id_map by_thread;
	uint32_t ended[THREAD_NAMES_ENDED], ended_count; /* in turn */
	struct quota *quota;                             /* borrowed */
};

void thread_names_release(struct thread_names *names);

/* The program gave a thread this name in the kernel. -ENOMEM: out of memory. */
int thread_names_set_comm(struct thread_names *names, uint32_t thread, const char *comm);

/*
 * The interpreter's name of a thread, read at this time. 1: it is the first one; 0: it is known, or
 * waits for time of the thread, or there is no room; -ENOMEM: out of memory.
 */
int thread_names_learn(struct thread_names *names, uint32_t thread, uint64_t time_ns,
		       const char *name);

/*
 * Returns the name that the interpreter gave to a thread, if it is the one to show at this time (0:
 * as it is known now), or NULL. `comm` is the kernel's name at that time; NULL: inherited unless
 * the program is known to have set it. `inherited` tells whether one that is not known to have been
 * set was inherited. Valid until the next change.
 */
const char *thread_names_choose(struct thread_names *names, uint32_t thread, uint64_t time_ns,
				const char *comm, bool inherited);

/* Tells whether a newer name has waited for time of the thread at this time. */
bool thread_names_waits(const struct thread_names *names, uint32_t thread, uint64_t time_ns);

/* Notes a thread's id in its process's own pid namespace. -ENOMEM: out of memory. */
int thread_names_set_inner(struct thread_names *names, uint32_t thread, uint32_t inner);
bool thread_names_has_inner(const struct thread_names *names, uint32_t thread);

/* Adds each thread that is noted by its `inner` to an empty map. -ENOMEM: not all of them. */
int thread_names_by_inner(const struct thread_names *names, struct id_map *threads);

/*
 * The thread has ended. The names of the last THREAD_NAMES_ENDED stay: a thread has time after its
 * end is reported, and what it did on the GPU is told later.
 */
void thread_names_end(struct thread_names *names, uint32_t thread);

/* Drops what is known of a thread whose id another one has by now. */
void thread_names_forget(struct thread_names *names, uint32_t thread);

#endif
