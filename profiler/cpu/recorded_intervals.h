/* SPDX-License-Identifier: MIT */
/*
 * When a process was recorded, where it chooses that itself (--range): it says when each part
 * begins and ends. Zero-initialised has said nothing: then it is not recorded. Times are
 * CLOCK_MONOTONIC in ns, by the process itself, so in any order.
 *
 * Only the last RECORDED_INTERVALS_CHANGES are known; before them it counts as not recorded. They
 * take memory once there is one.
 */
#ifndef PROFILER_CPU_RECORDED_INTERVALS_H
#define PROFILER_CPU_RECORDED_INTERVALS_H

#include <stdbool.h>
#include <stdint.h>

#define RECORDED_INTERVALS_CHANGES 256u

struct recorded_intervals {
	struct recorded_change *changes; /* a ring; NULL: none */
	uint32_t first, count;
};

/* From that time on it is recorded, or not. Whether a part begins; -ENOMEM. */
int recorded_intervals_note(struct recorded_intervals *chosen, uint64_t time_ns, bool is_open);

bool recorded_intervals_has(const struct recorded_intervals *chosen, uint64_t time_ns);

void recorded_intervals_release(struct recorded_intervals *chosen);

#endif
