/* SPDX-License-Identifier: MIT */
/*
 * When a process was recorded, where it chooses that itself (--range): it says when each part
 * begins and ends. Zero-initialised has said nothing: then it is not recorded. Times are
 * CLOCK_MONOTONIC in ns, by the process itself, so in any order.
 *
 * Only the last CHOSEN_CHANGES are known; before them it counts as not recorded. They take memory
 * once there is one.
 */
#ifndef PROFILER_CPU_CHOSEN_H
#define PROFILER_CPU_CHOSEN_H

#include <stdbool.h>
#include <stdint.h>

#define CHOSEN_CHANGES 256u

struct chosen {
	struct chosen_change *changes; /* a ring; NULL: none */
	uint32_t first, count;
};

/* From that time on it is recorded, or not. Whether a part begins; -ENOMEM. */
int chosen_note(struct chosen *chosen, uint64_t time_ns, bool is_open);

bool chosen_has(const struct chosen *chosen, uint64_t time_ns);

void chosen_release(struct chosen *chosen);

#endif
