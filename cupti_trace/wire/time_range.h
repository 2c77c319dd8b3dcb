/* SPDX-License-Identifier: MIT */
/*
 * Defines the recorded part of a run (--delay, -d), CLOCK_MONOTONIC in ns. All programs of a run
 * share it, whenever they start. An event that begins in the range belongs to it as a whole; one
 * that begins at its end does not. The profiler passes the range in a variable, and changes through
 * a link beside the pipe (gpu_wire.h).
 *
 * In a program the library records a little more, because launches may precede the range and
 * records may follow it. The profiler leaves those out.
 */
#ifndef CUPTI_TRACE_WIRE_TIME_RANGE_H
#define CUPTI_TRACE_WIRE_TIME_RANGE_H

#include <stdbool.h>
#include <stdint.h>

/* Zero-initialised: the whole run. */
struct time_range {
	uint64_t from_ns; /* TIME_RANGE_NOT_YET: waits for the command `start` */
	uint64_t to_ns;   /* 0: the end of the run */
	/* time at which programs may leave, for nothing is awaited; 0: not known */
	uint64_t leave_ns;
};

#define TIME_RANGE_NOT_YET UINT64_MAX

/*
 * Delay between announcing a range and its start. Programs poll every tick, so all have seen it by
 * then.
 */
#define TIME_RANGE_NOTICE_NS 100000000u

/* Launches are recorded this long before the range: their work may begin in it. */
#define TIME_RANGE_LEAD_NS 1000000000u

/*
 * Time for records of the range to arrive after its end, unless the profiler finds earlier that it
 * has all. Then the program says goodbye. A library that was injected leaves sooner, since whoever
 * attaches waits for it.
 */
#define TIME_RANGE_GRACE_NS 500000000u
#define TIME_RANGE_INJECTED_GRACE_NS 250000000u

static inline bool time_range_is_part(const struct time_range *w)
{
	return w->from_ns || w->to_ns;
}

/* Returns whether the range has ended at `time_ns`. */
static inline bool time_range_is_over(const struct time_range *w, uint64_t time_ns)
{
	return w->to_ns && time_ns >= w->to_ns;
}

static inline bool time_range_has(const struct time_range *w, uint64_t time_ns)
{
	return time_ns >= w->from_ns && !time_range_is_over(w, time_ns);
}

/* Returns the time from which operations must be recorded; 0: the start of the run. */
static inline uint64_t time_range_recorded_from(const struct time_range *w)
{
	return w->from_ns > TIME_RANGE_LEAD_NS ? w->from_ns - TIME_RANGE_LEAD_NS : 0;
}

/* Returns whether recording need not start yet. */
static inline bool time_range_is_far(const struct time_range *w, uint64_t time_ns)
{
	return time_ns < time_range_recorded_from(w);
}

#endif
