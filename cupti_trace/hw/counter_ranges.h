/* SPDX-License-Identifier: MIT */
/*
 * Reads hardware counters of single kernels in one CUDA context, by CUPTI's range profiler: between
 * start and stop each kernel that is launched in the context is a range, which CUPTI runs once for
 * each pass, with the memory that it writes restored in between (CUPTI_AutoRange,
 * CUPTI_KernelReplay). The launch returns when all passes are over.
 *
 * One thread at a time; the caller locks. Functions return 0 or a CUptiResult, or -1 where memory
 * is short.
 */
#ifndef CUPTI_TRACE_HW_COUNTER_RANGES_H
#define CUPTI_TRACE_HW_COUNTER_RANGES_H

#include "cupti_trace/hw/counter_host.h"

struct counter_ranges {
	const struct profiler_api *api;
	struct counter_host host;
	void *context;
	void *profiler;
	uint8_t *data;
	size_t data_size;
	const char *failed; /* the call that failed */
	char chip[32];
	uint8_t *availability; /* of the host's counters */
};

/*
 * Finds out what the context's GPU can count. Then the caller adds metrics to `host`, and calls
 * begin.
 */
int counter_ranges_open(struct counter_ranges *ranges, const struct profiler_api *api,
			void *context);
int counter_ranges_begin(struct counter_ranges *ranges);

/* The context may go, or be gone already (`is_gone`). */
void counter_ranges_close(struct counter_ranges *ranges, bool is_gone);

/* Around the launch of one kernel, in its thread. */
int counter_ranges_start(struct counter_ranges *ranges);
int counter_ranges_stop(struct counter_ranges *ranges);

/*
 * After a stop: the values of the host's metrics. *kernels: how many were launched meanwhile; there
 * are values only if it is 1.
 */
int counter_ranges_read(struct counter_ranges *ranges, double *values, size_t *kernels);

#endif
