/* SPDX-License-Identifier: MIT */
/*
 * Keeps the time intervals in which a process was recorded, as reported by the process (--range).
 *
 * Zero-initialised means never recorded. Times are CLOCK_MONOTONIC in ns, in any order. Only the
 * last RECORDED_INTERVALS_CHANGES changes are kept; earlier times count as not recorded. Memory is
 * allocated with the first change.
 */
#ifndef PROFILER_CPU_RECORDED_INTERVALS_H
#define PROFILER_CPU_RECORDED_INTERVALS_H

#include <stdbool.h>
#include <stdint.h>

#define RECORDED_INTERVALS_CHANGES 256u

struct recorded_intervals {
	struct recorded_change *changes; /* ring; NULL if there are none */
	uint32_t first, count;
};

/*
 * Notes that recording starts (`is_open`) or stops. Returns 1 if a new interval begins, else 0, or
 * -ENOMEM.
 */
int recorded_intervals_note(struct recorded_intervals *chosen, uint64_t time_ns, bool is_open);

bool recorded_intervals_has(const struct recorded_intervals *chosen, uint64_t time_ns);

void recorded_intervals_release(struct recorded_intervals *chosen);

#endif
