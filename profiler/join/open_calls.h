/* SPDX-License-Identifier: MIT */
/*
 * Timed calls that have not returned: their threads, start times and stacks. Pure.
 *
 * A thread is in at most one timed call: nested calls are not timed. Memory is 64 bytes for each
 * thread inside a call; the kernel bounds the number of threads.
 */
#ifndef PROFILER_JOIN_OPEN_CALLS_H
#define PROFILER_JOIN_OPEN_CALLS_H

#include <stdbool.h>
#include <stdint.h>
#include "profiler/model/id_remap.h"
#include "symbolize/util/hash_index.h"

struct open_call {
	uint64_t start_ns;
	uint32_t process, tid;
	struct stack_id stack; /* only passed through, as `place` is */
	struct place_id place;
	uint64_t taken_ns; /* not 0: taken out at this time, and has not returned since */
};

/* Zero-initialised is empty. */
struct open_calls {
	struct open_call *calls;
	uint32_t count, capacity;
	struct hash_index index; /* by tid */
};

/*
 * The thread `call->tid` has entered a call. If it was in another, whose return was lost, that call
 * is dropped. 0 or -ENOMEM.
 */
int open_calls_enter(struct open_calls *open, const struct open_call *call);

/*
 * The thread has returned from the call that began at `start_ns`. False: its entry was not
 * reported. A call that was taken out begins at that time.
 */
bool open_calls_leave(struct open_calls *open, uint32_t tid, uint64_t start_ns,
		      struct open_call *call);

/*
 * Takes out one call of a thread of `process` (0: of any), as if it ended at `now_ns`; false: none
 * from `*position` on.
 */
bool open_calls_take(struct open_calls *open, uint32_t process, uint64_t now_ns, uint32_t *position,
		     struct open_call *call);

/* Shows the numbers in use. */
void open_calls_visit(struct open_calls *open, const struct id_visitor *visitor);

/* The process has ended for good. */
void open_calls_forget(struct open_calls *open, uint32_t process);

void open_calls_release(struct open_calls *open);

#endif
