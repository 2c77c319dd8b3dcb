/* SPDX-License-Identifier: MIT */
/*
 * Keeps the times of kernels whose hardware counters were read (hw_counters.h). Their activity
 * records have no times (CUPTI of CUDA 13.0, on an H200). So the duration is a counter that is read
 * with each launch. The launch call returns when the last replay of its kernel has ended: that is
 * the end.
 */
#ifndef CUPTI_TRACE_HW_COUNTED_TIMES_H
#define CUPTI_TRACE_HW_COUNTED_TIMES_H

#include <stdint.h>

#define COUNTED_TIMES_METRIC "gpu__time_duration.sum" /* ns */
#define COUNTED_TIMES_KEPT 8192u /* by the correlation ids' last bits; newer replace older */

enum counted_time { COUNTED_NONE, COUNTED_PENDING, COUNTED_KNOWN };

/*
 * Begins and ends the measurement of a launch; the duration is NAN if there is none. One thread at
 * a time.
 */
void counted_times_begin(uint32_t correlation_id);
/* `launched_ns` and `returned_ns` are the call's, CLOCK_MONOTONIC. */
void counted_times_end(uint32_t correlation_id, const double *duration_ns, uint64_t launched_ns,
		       uint64_t returned_ns);

/* Finds the times of a launch; sets both if they are known. Any thread. */
enum counted_time counted_times_find(uint32_t correlation_id, uint64_t *start_ns,
				     uint64_t *duration_ns);

#endif
