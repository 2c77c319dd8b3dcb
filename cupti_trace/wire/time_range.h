/* SPDX-License-Identifier: MIT */
/*
 * The part of a run that is recorded (--delay, -d), by CLOCK_MONOTONIC in ns: one for all programs,
 * whenever they begin. What begins in it belongs to it, as a whole; what begins at its end does
 * not. The profiler tells it to the library by a variable, and where it changes later, by a link
 * beside the pipe (gpu_wire.h).
 *
 * In a program the library records a little more, so that what begins in the window is understood:
 * its launches may be from before it, and its records come after it. The profiler leaves that out.
 */
#ifndef CUPTI_TRACE_WIRE_TIME_RANGE_H
#define CUPTI_TRACE_WIRE_TIME_RANGE_H

#include <stdbool.h>
#include <stdint.h>

/* Zero-initialised is all of the run. */
struct time_range {
	uint64_t from_ns; /* TIME_RANGE_NOT_YET: it has not been said (`start`) */
	uint64_t to_ns;   /* 0: the end of the run */
};

#define TIME_RANGE_NOT_YET UINT64_MAX

/* It begins so long after the profiler says so: programs look every tick, and know it by then. */
#define TIME_RANGE_NOTICE_NS 100000000u

/* Launches are recorded this long before the window: their work may begin in it. */
#define TIME_RANGE_LEAD_NS 1000000000u

/* Records of what began in the window may come this long after it; then the program says goodbye.
 */
#define TIME_RANGE_GRACE_NS 500000000u

static inline bool time_range_is_part(const struct time_range *w)
{
	return w->from_ns || w->to_ns;
}

/* Returns whether it is over at `time_ns`. */
static inline bool time_range_is_over(const struct time_range *w, uint64_t time_ns)
{
	return w->to_ns && time_ns >= w->to_ns;
}

static inline bool time_range_has(const struct time_range *w, uint64_t time_ns)
{
	return time_ns >= w->from_ns && !time_range_is_over(w, time_ns);
}

/* Returns the time before which nothing that ended is recorded; 0: from the start. */
static inline uint64_t time_range_recorded_from(const struct time_range *w)
{
	return w->from_ns > TIME_RANGE_LEAD_NS ? w->from_ns - TIME_RANGE_LEAD_NS : 0;
}

/* Returns whether nothing has to be recorded yet. */
static inline bool time_range_is_far(const struct time_range *w, uint64_t time_ns)
{
	return time_ns < time_range_recorded_from(w);
}

#endif
