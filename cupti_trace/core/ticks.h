/* SPDX-License-Identifier: MIT */
/*
 * The time of a launch, read as cheaply as possible and converted later.
 *
 * Reading CLOCK_MONOTONIC means reading the processor's time-stamp counter, after all instructions
 * before have completed, and converting it. A launch only reads the counter, and whoever drains
 * launches converts: by a straight line through two points at which both were read, one shortly
 * before the launch and one after it. So a change of the clock's rate (NTP) is followed.
 *
 * A machine that was suspended, or moved as a virtual one, may go on with another counter. So no
 * time is later than now, or much earlier than the two points, and the line starts again where the
 * counter went back.
 *
 * Where the kernel does not trust the counter (it lists it among its clock sources if it is steady
 * and the same on all processors), or does not say, ticks are CLOCK_MONOTONIC in ns.
 */
#ifndef CUPTI_TRACE_CORE_TICKS_H
#define CUPTI_TRACE_CORE_TICKS_H

#include <stdbool.h>
#include <stdint.h>
#include "cupti_trace/core/clock.h"

#define TICKS_EARLY_NS UINT64_C(60000000000) /* a time may be that much before the points */
#define TICKS_SPAN_NS 20000000u /* between two points: a line through closer ones is not exact */

/* Set once, by ticks_init. */
struct ticks_source {
	bool is_counter;
	uint64_t base; /* of the counter */
};
extern struct ticks_source ticks_source;

/* To be called once, before ticks_now. */
void ticks_init(void);

/* Returns the ticks, where their source is a counter. */
static inline uint64_t ticks_counted(void)
{
	return __builtin_ia32_rdtsc() - ticks_source.base;
}

/* Any thread. Below 2^59 for six years. */
static inline uint64_t ticks_now(void)
{
	return ticks_source.is_counter ? ticks_counted() : clock_now_ns();
}

/* What was read at the same time. */
struct ticks_point {
	uint64_t ticks, ns;
};

struct ticks_point ticks_read_point(void);

/* Zero-initialised is empty. Not for several threads at once. */
struct ticks_line {
	struct ticks_point older, newer; /* at least TICKS_SPAN_NS apart, or equal */
	uint64_t ns_per_tick;            /* in units of 2^-32 */
};

/* Takes a point in that was read later than all before. */
void ticks_line_add(struct ticks_line *line, const struct ticks_point *point);

/* CLOCK_MONOTONIC of ticks near the last points; a line needs two of these. Not later than now. */
uint64_t ticks_line_ns(const struct ticks_line *line, uint64_t ticks);

#endif
