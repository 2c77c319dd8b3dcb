/* SPDX-License-Identifier: MIT */
/*
 * Begins and ends the recorded time range of a run (cupti_trace/wire/time_range.h). The range is
 * the whole run, unless limited by --delay, -d, --control, or the start of libraries in running
 * processes. Passes the range to BPF, `collect` and the libraries. Reads processes' CPU time at
 * both ends.
 */
#ifndef PROFILER_RUN_RECORDED_TIME_RANGE_H
#define PROFILER_RUN_RECORDED_TIME_RANGE_H

#include <stdbool.h>
#include <stdint.h>
#include "cupti_trace/wire/time_range.h"
#include "profiler/base/measure.h"
#include "profiler/run/target.h"

struct run_parts;

/* Stages in order. TIME_RANGE_OPEN may be skipped. */
enum time_range_stage {
	TIME_RANGE_AHEAD,
	TIME_RANGE_OPEN, /* recording has begun; the last stage with running processes */
	TIME_RANGE_OVER
};

/* Zero-initialised: the whole run. */
struct recorded_time_range {
	struct time_range time_range;
	enum time_range_stage stage;
	bool begin_was_requested; /* by session_begin_time_range */
};

/*
 * Sets the time range of a command that starts now. Writes to `variable` the environment variable
 * for the library in the command, or "".
 */
void recorded_time_range_set(struct run_parts *run, char variable[TARGET_VARIABLE_BYTES]);

/* Postpones the range of running processes until the library has been injected into them. */
void recorded_time_range_postpone(struct run_parts *run);

/* Begins the range after TIME_RANGE_NOTICE_NS. See session_begin_time_range for the result. */
int recorded_time_range_begin_soon(struct run_parts *run);

/* Ends the range at `to_ns`, which has passed. Libraries in running processes leave then. */
void recorded_time_range_end(struct run_parts *run, uint64_t to_ns);

/* Lets programs leave at once: nothing of the range, which has ended, is awaited. */
void recorded_time_range_release(struct run_parts *run);

/*
 * Begins the range once it is due. With running processes, this is when the library is in all of
 * them that use CUDA. Then answers the hellos that have waited. On failure the run enters
 * RUN_FAILED.
 */
void recorded_time_range_begin_when_due(struct run_parts *run);

/* Returns true if a command's range is over. The first such call ends sampling. */
bool recorded_time_range_is_over(struct run_parts *run);

/* Returns the timeout for events: `tick_ms`, or less if the range begins or ends before. */
int recorded_time_range_tick(const struct run_parts *run, int tick_ms);

/* Ends the range of a session's copy. Counts work that was launched in it and has not ended. */
void recorded_time_range_end_copy(struct run_parts *run, uint64_t until_ns);

/*
 * Writes the final range to `m` as delay and duration, if --last or a `start` command determined
 * it.
 */
void recorded_time_range_note(const struct run_parts *run, struct measure *m);

#endif
