/* SPDX-License-Identifier: MIT */
/*
 * Timed calls that have not returned: which thread is in one, since when, from where. Pure.
 *
 * A thread is in one timed call at most: calls inside of it are not timed. Memory grows with the
 * threads that are in a call at the same time, 64 bytes each; their numbers are bounded by the
 * kernel's.
 */
#ifndef PROFILER_COLLECT_OPEN_CALLS_H
#define PROFILER_COLLECT_OPEN_CALLS_H

#include <stdbool.h>
#include <stdint.h>
#include "symbolize/hash_index.h"

struct open_call {
	uint64_t start_ns;
	uint32_t process, tid;
	uint32_t stack, place; /* only passed through */
	uint64_t taken_ns;     /* not 0: it was taken out then, and has not returned since */
};

/* Zero-initialised is empty. */
struct open_calls {
	struct open_call *calls;
	uint32_t count, capacity;
	struct hash_index index; /* by tid */
};

/*
 * The thread `call->tid` has entered a call. `*lost` is set to true if it was in another one, whose
 * return never came; that one is forgotten. 0 or -ENOMEM.
 */
int open_calls_enter(struct open_calls *open, const struct open_call *call, bool *lost);

/*
 * It has returned from the call that began at `start_ns`. False: its entry was not reported. A call
 * that was taken out begins when that was.
 */
bool open_calls_leave(struct open_calls *open, uint32_t tid, uint64_t start_ns,
		      struct open_call *call);

/*
 * Takes out one call that a thread of `process` is in (0: of any process), which is taken to end at
 * `now_ns`; false: there is none from `*position` on.
 */
bool open_calls_take(struct open_calls *open, uint32_t process, uint64_t now_ns, uint32_t *position,
		     struct open_call *call);

/* The process is gone for good. */
void open_calls_forget(struct open_calls *open, uint32_t process);

void open_calls_release(struct open_calls *open);

#endif
