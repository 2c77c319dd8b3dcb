/* SPDX-License-Identifier: MIT */
/*
 * Converts CUPTI's clock to CLOCK_MONOTONIC.
 *
 * CUPTI stamps records with a clock of its own (on Linux today: CLOCK_REALTIME's rate and epoch).
 * The offset is measured by reading CLOCK_MONOTONIC, CUPTI's clock, then CLOCK_MONOTONIC again, and
 * keeping the tightest of several windows. This is repeated, and a time between two measurements
 * uses the interpolated offset, so drift and slewing are followed. (A timestamp callback would
 * avoid this, but costs on every record, and corrupts timestamps in CUPTI before 13.1.)
 *
 * The wall clock may be set, and CUPTI's with it. Times before and after such a step are converted
 * by measurements from their own side. A time that fits both sides is taken as the latest one that
 * is not in the future. A time fits neither if the clock was set again before a measurement; it is
 * taken as that of the last step.
 */
#ifndef CUPTI_TRACE_CORE_CLOCK_H
#define CUPTI_TRACE_CORE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>
#include "cupti_trace/core/cupti_api.h"

#define CLOCK_STEPS_MAX 4 /* number of steps remembered */

/* One measurement: at CUPTI time `at_ns`, CLOCK_MONOTONIC - CUPTI's clock was `offset_ns`. */
struct clock_point {
	uint64_t at_ns;
	int64_t offset_ns;
	uint64_t error_ns; /* half the window: the offset is right within this */
};

/* A straight line through two measurements between two steps. */
struct clock_era {
	struct clock_point older, newer;
	uint64_t since_ns, until_ns; /* range of times of the steps around it; CLOCK_MONOTONIC */
};

/* Copy it to use it without a lock. */
struct clock_map {
	struct clock_point older;
	struct clock_point newer;
	uint64_t since_ns; /* time of the last step */
	uint32_t steps;    /* number of steps in `past`, the latest first */
	struct clock_era past[CLOCK_STEPS_MAX];
};

/* Returns CLOCK_MONOTONIC, ns. */
uint64_t clock_now_ns(void);

/* Returns the CPU time of the calling thread, ns; 0: unknown. */
uint64_t clock_own_cpu_ns(void);

/*
 * Returns the CPU time of a thread of this process by the kernel's id, ns; 0: unknown, the thread
 * is gone, or `tid` is 0.
 */
uint64_t clock_cpu_ns_of(uint32_t tid);

/* Returns the time since 1970, ns; 0 if the wall clock stands before. */
uint64_t clock_wall_ns(void);

/* Returns a time of CLOCK_MONOTONIC, ns, as a deadline. */
struct timespec clock_deadline(uint64_t ns);

/*
 * Returns CLOCK_MONOTONIC in `ms` from now, as a deadline. The wall clock would not do: it may be
 * set.
 */
struct timespec clock_in_ms(uint32_t ms);

/* Measures the offset. Returns 0, or -EIO if CUPTI's clock cannot be read. */
int clock_measure(const struct cupti_api *api, struct clock_point *point);

/* Adds a measurement; one that is much less exact than usual is ignored. */
void clock_map_add(struct clock_map *map, const struct clock_point *point);

/*
 * Returns whether CUPTI's clock was set: it is not where the last measurement puts it. Measure
 * again.
 */
bool clock_was_set(const struct cupti_api *api, const struct clock_map *map);

/* Converts CUPTI time to CLOCK_MONOTONIC ns. The time was not after `now_ns`; 0: unknown. */
uint64_t clock_map_convert(const struct clock_map *map, uint64_t cupti_ns, uint64_t now_ns);

#endif
