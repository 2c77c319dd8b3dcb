/* SPDX-License-Identifier: MIT */
/*
 * Keeps the last windows in which a process recorded launches (--budget), as reported by it.
 *
 * Zero-initialised means no window. Times are CLOCK_MONOTONIC in ns. Memory is allocated with the
 * first window.
 */
#ifndef PROFILER_CPU_RECORDING_WINDOWS_H
#define PROFILER_CPU_RECORDING_WINDOWS_H

#include <stdint.h>
#include "cupti_trace/wire/gpu_event.h"

#define RECORDING_WINDOWS_MAX 8u /* launches come soon after the window that they are in */

struct recording_windows {
	struct recording_window *ring; /* NULL if there are none */
	uint32_t count;                /* all so far */
};

/* Returns 0 or -ENOMEM. */
int recording_windows_add(struct recording_windows *windows, const struct gpu_event_window *event);

/* Returns the number of launches that a launch at this time represents; 1 if it was in no window.
 */
uint32_t recording_windows_represents(const struct recording_windows *windows, uint64_t time_ns);

void recording_windows_release(struct recording_windows *windows);

#endif
