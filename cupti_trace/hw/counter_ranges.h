/* SPDX-License-Identifier: MIT */
/*
 * Reads hardware counters of single kernels in one CUDA context, by CUPTI's range profiler. Between
 * start and stop each kernel launched in the context is a range. CUPTI runs it once for each pass,
 * and between passes restores the memory that the kernel writes (CUPTI_AutoRange,
 * CUPTI_KernelReplay). The launch returns when all passes are over.
 *
 * One thread at a time; the caller locks. Functions return 0, a CUptiResult, or -1 when out of
 * memory.
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
	const char *failed; /* name of the function that failed */
	char chip[32];
	uint8_t *availability; /* available counters, for the host */
};

/*
 * Finds out what the context's GPU can count. Then the caller adds metrics to `host`, and calls
 * begin.
 */
int counter_ranges_open(struct counter_ranges *ranges, const struct profiler_api *api,
			void *context);
int counter_ranges_begin(struct counter_ranges *ranges);

/* Closes. The context may be about to go, or be gone already (`is_gone`). */
void counter_ranges_close(struct counter_ranges *ranges, bool is_gone);

/* Start and stop around the launch of one kernel, in its thread. */
int counter_ranges_start(struct counter_ranges *ranges);
int counter_ranges_stop(struct counter_ranges *ranges);

/*
 * Reads the values of the host's metrics after a stop. *kernels is the number of kernels between
 * start and stop; there are values only if it is 1.
 */
int counter_ranges_read(struct counter_ranges *ranges, double *values, size_t *kernels);

#endif
