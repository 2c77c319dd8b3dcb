/* SPDX-License-Identifier: MIT */
/*
 * Which Python threads wait for work that they have handed to another thread, and the frames of
 * these.
 *
 * A thread waits if its innermost Python function is one of a short table: those from which
 * PyTorch's autograd is called. It waits there in C, without the GIL.
 *
 * The memory of other threads may change and go away at any moment. So it is read through the
 * kernel alone, which refuses what is not mapped; all that is found is checked like memory of
 * another process (python_frames.h). Whether the thread moved meanwhile is for the caller to find
 * out: it did not if its CPU clock stands still.
 *
 * A system call costs far more than what it copies. So memory is copied in pieces, and those that
 * the last reading used are copied again by one call before the next one begins, which mostly needs
 * no others.
 *
 * Any thread may call, each with its own pieces; there are no locks.
 */
#ifndef CUPTI_TRACE_PYTHON_PYTHON_WAITERS_H
#define CUPTI_TRACE_PYTHON_PYTHON_WAITERS_H

#include <stdbool.h>
#include <stdint.h>
#include "symbolize/python_frames.h"

struct python_waiter {
	uint64_t thread; /* its PyThreadState */
	uint64_t self;   /* its pthread_self() */
	uint32_t tid;    /* 0: not known (before Python 3.11) */
};

#define PYTHON_PIECES 64
#define PYTHON_PIECE_BYTES 512u /* a page is a multiple of it */

/* Zero-initialise. */
struct python_pieces {
	uint32_t count;
	uint32_t last;                 /* the one that was looked at last */
	uint64_t start[PYTHON_PIECES]; /* 0: it could not be read */
	bool used[PYTHON_PIECES];      /* by this reading, or the last */
	unsigned char bytes[PYTHON_PIECES][PYTHON_PIECE_BYTES];
};

/*
 * The frames of a thread that waits, innermost first. False: it does not wait, it is another one by
 * now, or not all of its frames can be read.
 */
bool python_waiters_read(const struct python_waiter *waiter, struct python_pieces *pieces,
			 struct python_stack *stack);

/*
 * Does the same, where its frames run the code that they ran in an earlier reading, by the code's
 * numbers: this reads half as much. False: it has to be read the other way.
 */
bool python_waiters_read_again(const struct python_waiter *waiter, struct python_pieces *pieces,
			       const struct python_stack *earlier, struct python_stack *stack);

/*
 * Fills in the first `max` threads that wait, of the interpreter's newest 4096, except those that
 * are known already, by their pthread_self(). Returns how many wait, which may be more than `max`.
 */
uint32_t python_waiters_list(struct python_waiter *waiters, uint32_t max,
			     bool (*is_known)(uint64_t self), struct python_pieces *pieces);

#endif
