/* SPDX-License-Identifier: MIT */
/*
 * Lists Python threads that wait for work in another thread, and reads their frames.
 *
 * A thread waits if its innermost Python function is in a short table: functions that call
 * PyTorch's autograd. It waits there in C, without the GIL.
 *
 * The memory of other threads may change and go away at any moment. So it is read through the
 * kernel, which refuses unmapped memory. Everything is checked like memory of another process
 * (python_frames.h). The caller must check that the thread has not moved meanwhile: its CPU clock
 * stands still.
 *
 * A system call costs far more than copying. So memory is copied in pieces. Before a reading, one
 * call copies all pieces that the last reading used; mostly it needs no others.
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
	uint32_t tid;    /* 0: unknown (before Python 3.11) */
};

#define PYTHON_PIECES 64
#define PYTHON_PIECE_BYTES 512u /* divides a page */

/* Zero-initialise. */
struct python_pieces {
	uint32_t count;
	uint32_t last;                 /* the last piece that was used */
	uint64_t start[PYTHON_PIECES]; /* 0: it could not be read */
	bool used[PYTHON_PIECES];      /* by this reading, or the last */
	unsigned char bytes[PYTHON_PIECES][PYTHON_PIECE_BYTES];
};

/*
 * Reads the frames of a thread that waits, innermost first. Returns false if it does not wait, has
 * been replaced by another thread, or has unreadable frames.
 */
bool python_waiters_read(const struct python_waiter *waiter, struct python_pieces *pieces,
			 struct python_stack *stack);

/*
 * Reads the frames if they run the code of an earlier reading, by the code's numbers; takes half as
 * many reads. Returns false if python_waiters_read is needed.
 */
bool python_waiters_read_again(const struct python_waiter *waiter, struct python_pieces *pieces,
			       const struct python_stack *earlier, struct python_stack *stack);

/*
 * Fills in up to `max` waiting threads among the interpreter's newest 4096. Skips known ones, by
 * their pthread_self(). Returns the number of waiting threads, which may exceed `max`.
 */
uint32_t python_waiters_list(struct python_waiter *waiters, uint32_t max,
			     bool (*is_known)(uint64_t self), struct python_pieces *pieces);

#endif
