/* SPDX-License-Identifier: MIT */
/*
 * Threads that do little but wait for work (--wall): of pools, event loops and libraries. The time
 * that they are blocked there goes below one frame, "[idle threads of NAME]", with all its frames.
 *
 * A thread is idle if it is not its process's first and spends most of its life (4/5 of what it
 * does not wait for a CPU) blocked with one stack, that of its wait for work:
 *
 * - in a futex, poll, epoll, read, receive, accept, signal or io_uring: not asleep, nor waiting for
 *   a disk, a process or the GIL;
 * - no function in it locks or joins: who waits for a lock all its life is held up;
 * - it does not wait in the program's own code, unless another thread does so with the same stack;
 *   and then neither at a barrier nor in a Python function of the program. Own code is that of
 *   --my-code, and of files with a function `main`.
 *
 * What an idle thread does besides stays where it is. Names come from the target.
 */
#ifndef PROFILER_SHAPE_IDLE_THREADS_H
#define PROFILER_SHAPE_IDLE_THREADS_H

#include <stdbool.h>
#include "profiler/model/result.h"

/*
 * Decides for each row whether it is the wait of an idle thread, into `is_idle`. The result needs
 * its frames, stacks, rows, places, names of places, and its folder. 0 or -ENOMEM.
 */
int idle_threads_find(const struct result *result, bool *is_idle);

/* The frame for a row of an idle thread, by the thread's name without its number. */
#define IDLE_THREADS_FRAME_BYTES 80
void idle_threads_frame(const struct result *result, const struct row *row,
			char text[IDLE_THREADS_FRAME_BYTES]);

#endif
