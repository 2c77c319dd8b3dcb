/* SPDX-License-Identifier: MIT */
/*
 * Runs the library's thread in the program. Every tick it sends pending events, follows the range,
 * and serves tracers. It leaves if the profiler has gone or the range has ended. There is at most
 * one at a time.
 */
#ifndef CUPTI_TRACE_MAIN_FLUSHER_H
#define CUPTI_TRACE_MAIN_FLUSHER_H

#include <stdbool.h>
#include "cupti_trace/core/tracer.h"

#define FLUSHER_TICK_MS 50 /* interval of sending launches and activity records */

/*
 * NONE -> RUNS: flusher_start. RUNS -> NONE: the thread of an injected copy leaves, or the process
 * is a child of fork. Any -> STOPS: flusher_stop, for good.
 */
enum flusher_state { FLUSHER_NONE, FLUSHER_RUNS, FLUSHER_STOPS };

/*
 * Starts a thread in `run`: flusher_main, or a function that calls flusher_wait_tick. Returns false
 * if there is none, or if it stops at once.
 */
bool flusher_start(struct tracer *tracer, void *(*run)(void *tracer));

/* Runs the thread with a profiler or a trace; `tracer` is a struct tracer. */
void *flusher_main(void *tracer);

/*
 * Sleeps for `ms`, and does flushes that are requested meanwhile. Returns true when it is time to
 * end.
 */
bool flusher_wait_tick(struct tracer *tracer, uint32_t ms);

/* Ends the thread at the process's exit, and waits for that with a timeout (timeout_join). */
void flusher_stop(void);

/* Forgets the thread: a child of fork has none. */
void flusher_forget(void);

/* Reads the range from a setting; NULL, or anything else, is the whole run. */
void flusher_read_time_range(struct tracer *tracer, const char *text);

#endif
