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
 */
#ifndef CUPTI_TRACE_CLOCK_H
#define CUPTI_TRACE_CLOCK_H

#include <stdint.h>
#include "cupti_trace/cupti_api.h"

/* One measurement: at CUPTI time `at_ns`, CLOCK_MONOTONIC - CUPTI's clock was `offset_ns`. */
struct clock_point {
	uint64_t at_ns;
	int64_t offset_ns;
	uint64_t error_ns; /* half the window: the offset is right within this */
};

/* A straight line through two measurements. Copy it to use it without a lock. */
struct clock_map {
	struct clock_point older;
	struct clock_point newer;
};

/* Now, in CLOCK_MONOTONIC ns. */
uint64_t clock_now_ns(void);

/* 0, or -EIO when CUPTI's clock cannot be read. */
int clock_measure(const struct cupti_api *api, struct clock_point *point);

/* Takes a new measurement in; one that is much less exact than usual is ignored. */
void clock_map_add(struct clock_map *map, const struct clock_point *point);

/* CUPTI time -> CLOCK_MONOTONIC ns. */
uint64_t clock_map_convert(const struct clock_map *map, uint64_t cupti_ns);

#endif
