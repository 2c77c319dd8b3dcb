/* SPDX-License-Identifier: MIT */
/*
 * Finds threads that do little but wait for work (--wall): those of pools, event loops and
 * libraries.
 *
 * The time that they are blocked goes below one frame, "[idle threads of NAME]", with all its
 * frames. Other time of an idle thread stays where it is.
 *
 * A thread is idle if it is not the first of its process and is blocked with one stack for 4/5 of
 * its life. Waits for a CPU do not count as life. That stack must be a wait for work:
 *
 *  - It ends in a futex, poll, epoll, read, receive, accept, signal or io_uring. Sleep, and waits
 *    for a disk, a process or the GIL do not count.
 *  - No function in it locks or joins. A thread that waits for a lock all its life is held up.
 *  - It is not in the program's own code, unless another thread waits with an equal stack. Then
 *    it is neither at a barrier nor in a Python function of the program. Own code is that of
 *    --my-code, and of files with a function `main`.
 *
 * Names come from the target.
 */
#ifndef PROFILER_SHAPE_IDLE_THREADS_H
#define PROFILER_SHAPE_IDLE_THREADS_H

#include <stdbool.h>
#include "profiler/model/result.h"

/*
 * Sets `is_idle` for each row that is the wait of an idle thread. The result needs frames, stacks,
 * rows, places, names of places, and the working directory. Returns 0, or -ENOMEM.
 */
int idle_threads_find(const struct result *result, bool *is_idle);

/* Writes the frame of an idle thread's row: the thread's name without its number. */
#define IDLE_THREADS_FRAME_BYTES 80
void idle_threads_frame(const struct result *result, const struct row *row,
			char text[IDLE_THREADS_FRAME_BYTES]);

#endif
