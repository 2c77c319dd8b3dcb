/* SPDX-License-Identifier: MIT */
/*
 * Reads the time of a launch as cheaply as possible, and converts it later.
 *
 * Reading CLOCK_MONOTONIC means waiting for all earlier instructions, reading the processor's
 * time-stamp counter, and converting it. A launch only reads the counter; the reader of the launch
 * log converts. The line for that goes through two points at which both clocks were read: one
 * shortly before the launch, one after it. So a change of the clock's rate (NTP) is followed.
 *
 * A machine that was suspended, or migrated as a virtual one, may go on with another counter. So no
 * time is later than now, or much earlier than both points. The line starts again if the counter
 * went back.
 *
 * The kernel lists the counter among its clock sources if it is steady and equal on all processors.
 * If it does not, or the list is unknown, ticks are CLOCK_MONOTONIC in ns.
 */
#ifndef CUPTI_TRACE_CORE_TICKS_H
#define CUPTI_TRACE_CORE_TICKS_H

#include <stdbool.h>
#include <stdint.h>
#include "cupti_trace/core/clock.h"

/* Limit of how long before the points a time may be. */
#define TICKS_EARLY_NS UINT64_C(60000000000)
/* Minimum between the points: a line through closer ones is inexact. */
#define TICKS_SPAN_NS 20000000u

/* Set once, by ticks_init. */
struct ticks_source {
	bool is_counter;
	uint64_t base; /* counter at the start */
};
extern struct ticks_source ticks_source;

/* Chooses the source. Call once, before ticks_now. */
void ticks_init(void);

/* Returns the ticks if their source is a counter. */
static inline uint64_t ticks_counted(void)
{
	return __builtin_ia32_rdtsc() - ticks_source.base;
}

/* Returns the ticks now. Any thread. Below 2^59 for six years. */
static inline uint64_t ticks_now(void)
{
	return ticks_source.is_counter ? ticks_counted() : clock_now_ns();
}

/* Both clocks at one time. */
struct ticks_point {
	uint64_t ticks, ns;
};

struct ticks_point ticks_read_point(void);

/* Zero-initialised is empty. Not thread-safe. */
struct ticks_line {
	struct ticks_point older, newer; /* at least TICKS_SPAN_NS apart, or equal */
	uint64_t ns_per_tick;            /* in units of 2^-32 */
};

/* Adds a point, which must be later than all before. */
void ticks_line_add(struct ticks_line *line, const struct ticks_point *point);

/* Converts ticks near the last points to CLOCK_MONOTONIC, not later than now. Needs two points. */
uint64_t ticks_line_ns(const struct ticks_line *line, uint64_t ticks);

#endif
