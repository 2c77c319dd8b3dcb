/* SPDX-License-Identifier: MIT */
/*
 * Keeps the names that an interpreter gives to threads (threading.Thread(name=...)), and chooses
 * the name to show.
 *
 * The interpreter's name wins over a kernel's name that was inherited from the process or the
 * creating thread. A name that the program set itself (prctl(2) PR_SET_NAME, pthread_setname_np)
 * wins over the interpreter's. The exception is a name that is the start of the interpreter's:
 * CPython sets such names from 3.14 on.
 *
 * The newest name counts that a thread had while it spent time, as with the kernel's names
 * (renames.h). So a new name waits until its thread spends time. The first name counts for all
 * earlier time. Times are CLOCK_MONOTONIC in ns.
 *
 * Thread ids are those of the profiler's pid namespace; `inner` is the id in the process's own.
 * Memory is charged to a quota. Over the quota a thread has no such name.
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
	uint32_t ended[THREAD_NAMES_ENDED], ended_count; /* ring of ended threads */
	struct quota *quota;                             /* borrowed */
};

void thread_names_release(struct thread_names *names);

/* Notes that the program set the kernel's name of a thread. Returns 0, or -ENOMEM. */
int thread_names_set_comm(struct thread_names *names, uint32_t thread, const char *comm);

/*
 * Notes the interpreter's name of a thread, read at `time_ns`. Returns 1 if it is the thread's
 * first name. Returns 0 if it is known, waits for time of the thread, or is over the quota. Returns
 * -ENOMEM.
 */
int thread_names_learn(struct thread_names *names, uint32_t thread, uint64_t time_ns,
		       const char *name);

/*
 * Returns the interpreter's name of a thread if it is the one to show, or NULL. `time_ns` 0 means
 * now. `comm` is the kernel's name at that time, or NULL: inherited unless the program is known to
 * have set it. `inherited`: a name not known to be set was inherited. Valid until the next change.
 */
const char *thread_names_choose(struct thread_names *names, uint32_t thread, uint64_t time_ns,
				const char *comm, bool inherited);

/* Returns true if a newer name waits for time of the thread at `time_ns`. */
bool thread_names_waits(const struct thread_names *names, uint32_t thread, uint64_t time_ns);

/* Notes a thread's id in its process's own pid namespace. Returns 0, or -ENOMEM. */
int thread_names_set_inner(struct thread_names *names, uint32_t thread, uint32_t inner);
bool thread_names_has_inner(const struct thread_names *names, uint32_t thread);

/* Adds each thread with a noted `inner` id to an empty map. Returns -ENOMEM if some are missing. */
int thread_names_by_inner(const struct thread_names *names, struct id_map *threads);

/*
 * Notes the end of a thread. The last THREAD_NAMES_ENDED names stay, because a thread's GPU work is
 * reported after its end.
 */
void thread_names_end(struct thread_names *names, uint32_t thread);

/* Drops the names of a thread whose id was reused. */
void thread_names_forget(struct thread_names *names, uint32_t thread);

#endif
