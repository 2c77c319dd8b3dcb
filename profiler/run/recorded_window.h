/* SPDX-License-Identifier: MIT */
/*
 * The part of a run that is recorded (cupti_trace/wire/window.h): all of it, or what --delay, -d,
 * --control and the libraries in running processes leave of it. Tells the kernel's side, `collect`
 * and libraries where it begins and ends, and reads processes' CPU time there.
 */
#ifndef PROFILER_RUN_RECORDED_WINDOW_H
#define PROFILER_RUN_RECORDED_WINDOW_H

#include <stdbool.h>
#include <stdint.h>
#include "cupti_trace/wire/window.h"
#include "profiler/base/measure.h"
#include "profiler/run/target.h"

struct run_parts;

/* Each comes after those above it; the one between may be left out. */
enum window_stage {
	WINDOW_AHEAD,
	WINDOW_OPEN, /* recording has begun; of running processes to the end */
	WINDOW_OVER
};

/* Zero-initialised is all of the run. */
struct recorded_window {
	struct window window;
	enum window_stage stage;
	bool was_told_to_begin; /* by session_begin_window */
};

/*
 * Sets the window of a command, which begins now; `variable`: what the library in it learns it by,
 * "": nothing.
 */
void recorded_window_set(struct run_parts *run, char variable[TARGET_VARIABLE_BYTES]);

/* Has the window of running processes begin when the library has come into them, not before. */
void recorded_window_put_off(struct run_parts *run);

/* Begins the window when all can know it: session_begin_window, once the run goes. */
int recorded_window_begin_soon(struct run_parts *run);

/* Ends the window at `to_ns`, which is over. Libraries in running processes leave then. */
void recorded_window_end(struct run_parts *run, uint64_t to_ns);

/*
 * Begins the window when its time has come; of running processes, when the library is in all of
 * those that use CUDA. Then hellos that have waited for it are answered. The run fails if it cannot
 * begin.
 */
void recorded_window_begin_when_due(struct run_parts *run);

/* Returns whether the window of a command is over; the first time, samples end with it. */
bool recorded_window_is_over(struct run_parts *run);

/* Returns how long to wait for events: `tick_ms`, but not beyond its beginning or end. */
int recorded_window_tick(const struct run_parts *run, int tick_ms);

/* Ends the window of a copy: what was launched in it and has not ended is counted. */
void recorded_window_end_copy(struct run_parts *run, uint64_t until_ns);

/*
 * Notes the last seconds, or what `start` began, as a part like any other, now that they are
 * known.
 */
void recorded_window_note(const struct run_parts *run, struct measure *m);

#endif
