/* SPDX-License-Identifier: MIT */
/*
 * Keeps timed calls that have not returned: their threads, start times and stacks.
 *
 * Pure: no I/O. A thread is in at most one timed call, because nested calls are not timed. Each
 * thread inside a call takes 64 bytes; the kernel bounds the number of threads.
 */
#ifndef PROFILER_JOIN_OPEN_CALLS_H
#define PROFILER_JOIN_OPEN_CALLS_H

#include <stdbool.h>
#include <stdint.h>
#include "profiler/model/id_remap.h"
#include "symbolize/util/record_set.h"

struct open_call {
	uint32_t tid; /* key */
	uint32_t process;
	uint64_t start_ns;
	struct stack_id stack; /* only passed through, like `place` */
	struct place_id place;
	uint64_t taken_ns; /* time at which the open call was taken out; 0: not yet */
};

/* Zero-initialised is empty. */
struct open_calls {
	RECORD_SET(struct open_call) calls;
};

/*
 * Notes that the thread `call->tid` has entered a call. Drops a previous call, whose return was
 * lost. Returns 0, or -ENOMEM.
 */
int open_calls_enter(struct open_calls *open, const struct open_call *call);

/*
 * Removes the thread's call that began at `start_ns`, because it has returned. A call that was
 * taken out before begins at that time. Returns false if its entry was not reported.
 */
bool open_calls_leave(struct open_calls *open, uint32_t tid, uint64_t start_ns,
		      struct open_call *call);

/*
 * Takes out the next call of a thread of `process` (0: any), as if it ended at `now_ns`. Returns
 * false if there is none from `*position` on.
 */
bool open_calls_take(struct open_calls *open, uint32_t process, uint64_t now_ns, uint32_t *position,
		     struct open_call *call);

/* Passes the numbers in use to the visitor. */
void open_calls_visit(struct open_calls *open, const struct id_visitor *visitor);

/* Forgets a process that has ended for good. */
void open_calls_forget(struct open_calls *open, uint32_t process);

void open_calls_release(struct open_calls *open);

#endif
