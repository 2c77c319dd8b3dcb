/* SPDX-License-Identifier: MIT */
/*
 * The thread of the library in the program: it sends what there is every tick, follows the window,
 * serves tracers, and leaves where the profiler has gone or the window has ended. There is at most
 * one at a time.
 */
#ifndef CUPTI_TRACE_MAIN_FLUSHER_H
#define CUPTI_TRACE_MAIN_FLUSHER_H

#include <stdbool.h>
#include "cupti_trace/core/tracer.h"

#define FLUSHER_TICK_MS 50 /* launches and activity records go out this often */

/*
 * NONE -> RUNS: flusher_start. RUNS -> NONE: the thread of a copy that was brought in leaves, or
 * the process is a child of fork. Any -> STOPS: flusher_stop, for good.
 */
enum flusher_state { FLUSHER_NONE, FLUSHER_RUNS, FLUSHER_STOPS };

/*
 * Starts a thread in `run`: flusher_main, or a function that calls flusher_wait_tick. False: there
 * is none, or it stops at once.
 */
bool flusher_start(struct tracer *tracer, void *(*run)(void *tracer));

/* Runs the thread where there is a profiler or a trace; `tracer` is a struct tracer. */
void *flusher_main(void *tracer);

/* Sleeps for `ms`, but for the flushes that are wanted meanwhile. True: it is time to end. */
bool flusher_wait_tick(struct tracer *tracer, uint32_t ms);

/* Ends the thread at the process's exit, and waits for that with timeout (timeout_join). */
void flusher_stop(void);

/* Forgets the thread: a child of fork has none. */
void flusher_forget(void);

/* Reads the window from a setting; what is none, or NULL, is the whole run. */
void flusher_read_time_range(struct tracer *tracer, const char *text);

#endif
