/* SPDX-License-Identifier: MIT */
/*
 * CUPTI's clock -> CLOCK_MONOTONIC.
 *
 * CUPTI stamps records with a clock of its own (on Linux today: CLOCK_REALTIME's rate and epoch).
 * The offset is measured by reading CLOCK_MONOTONIC, CUPTI's clock, CLOCK_MONOTONIC again, and
 * keeping the tightest of several windows. It is measured again and again, and a time between
 * two measurements uses the offset interpolated between them, so drift and slewing are followed.
 * (A timestamp callback would avoid this, but costs on every record and corrupts timestamps in
 * CUPTI before 13.1.)
 *
 * The wall clock may be set, and CUPTI's with it. Times from before such a step and from after it
 * are converted by measurements of their own. One that could be from either is taken as the latest
 * that is not in the future, on its side of the step. One that could be from neither, since the
 * clock was set again before it was measured, is taken as of the last step.
 */
#ifndef CUPTI_TRACE_CORE_CLOCK_H
#define CUPTI_TRACE_CORE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>
#include "cupti_trace/core/cupti_api.h"

#define CLOCK_STEPS_MAX 4 /* remembered */

/* One measurement: at CUPTI time `at_ns`, CLOCK_MONOTONIC - CUPTI's clock was `offset_ns`. */
struct clock_point {
	uint64_t at_ns;
	int64_t offset_ns;
	uint64_t error_ns; /* half the window: the offset is right within this */
};

/* A straight line through two measurements between two steps. */
struct clock_era {
	struct clock_point older, newer;
	uint64_t since_ns, until_ns; /* the steps were not before, not after; CLOCK_MONOTONIC */
};

/* Copy it to use it without a lock. */
struct clock_map {
	struct clock_point older;
	struct clock_point newer;
	uint64_t since_ns; /* of the last step */
	uint32_t steps;    /* in `past`, the latest first */
	struct clock_era past[CLOCK_STEPS_MAX];
};

/* Now, in CLOCK_MONOTONIC ns. */
uint64_t clock_now_ns(void);

/* How long the calling thread has run, ns; 0: not known. */
uint64_t clock_own_cpu_ns(void);

/*
 * Does the same for a thread of this process, by the kernel's id; 0 as well: it is gone, or tid is
 * 0.
 */
uint64_t clock_cpu_ns_of(uint32_t tid);

/* So many ms from now, to wait until, by CLOCK_MONOTONIC: the wall clock may be set meanwhile. */
struct timespec clock_in_ms(uint32_t ms);

/* 0, or -EIO when CUPTI's clock cannot be read. */
int clock_measure(const struct cupti_api *api, struct clock_point *point);

/* Takes a new measurement in; one that is much less exact than usual is ignored. */
void clock_map_add(struct clock_map *map, const struct clock_point *point);

/* CUPTI's clock is not where the last measurement puts it: it was set. Measure again. */
bool clock_was_set(const struct cupti_api *api, const struct clock_map *map);

/* CUPTI time -> CLOCK_MONOTONIC ns. It was not after `now_ns`; 0: not known. */
uint64_t clock_map_convert(const struct clock_map *map, uint64_t cupti_ns, uint64_t now_ns);

#endif
