/* SPDX-License-Identifier: MIT */
/*
 * The part of a run that is recorded (cupti_trace/wire/time_range.h): all of it, or what --delay,
 * -d,
 * --control and the libraries in running processes leave of it. Tells the kernel's side, `collect`
 * and libraries where it begins and ends, and reads processes' CPU time there.
 */
#ifndef PROFILER_RUN_RECORDED_TIME_RANGE_H
#define PROFILER_RUN_RECORDED_TIME_RANGE_H

#include <stdbool.h>
#include <stdint.h>
#include "cupti_trace/wire/time_range.h"
#include "profiler/base/measure.h"
#include "profiler/run/target.h"

struct run_parts;

/* Each comes after those above it; the one between may be left out. */
enum time_range_stage {
	TIME_RANGE_AHEAD,
	TIME_RANGE_OPEN, /* recording has begun; of running processes to the end */
	TIME_RANGE_OVER
};

/* Zero-initialised is all of the run. */
struct recorded_time_range {
	struct time_range time_range;
	enum time_range_stage stage;
	bool was_told_to_begin; /* by session_begin_time_range */
};

/*
 * Sets the window of a command, which begins now; `variable`: what the library in it learns it by,
 * "": nothing.
 */
void recorded_time_range_set(struct run_parts *run, char variable[TARGET_VARIABLE_BYTES]);

/* Has the window of running processes begin when the library has come into them, not before. */
void recorded_time_range_put_off(struct run_parts *run);

/* Begins the window when all can know it: session_begin_time_range, once the run goes. */
int recorded_time_range_begin_soon(struct run_parts *run);

/* Ends the window at `to_ns`, which is over. Libraries in running processes leave then. */
void recorded_time_range_end(struct run_parts *run, uint64_t to_ns);

/*
 * Begins the window when its time has come; of running processes, when the library is in all of
 * those that use CUDA. Then hellos that have waited for it are answered. The run fails if it cannot
 * begin.
 */
void recorded_time_range_begin_when_due(struct run_parts *run);

/* Returns whether the window of a command is over; the first time, samples end with it. */
bool recorded_time_range_is_over(struct run_parts *run);

/* Returns how long to wait for events: `tick_ms`, but not beyond its beginning or end. */
int recorded_time_range_tick(const struct run_parts *run, int tick_ms);

/* Ends the window of a copy: what was launched in it and has not ended is counted. */
void recorded_time_range_end_copy(struct run_parts *run, uint64_t until_ns);

/*
 * Notes the last seconds, or what `start` began, as a part like any other, now that they are
 * known.
 */
void recorded_time_range_note(const struct run_parts *run, struct measure *m);

#endif
