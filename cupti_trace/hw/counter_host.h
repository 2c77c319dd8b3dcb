/* SPDX-License-Identifier: MIT */
/*
 * Metrics of hardware counters as CUPTI's host functions know them: which a chip has, what they
 * mean, in which passes a set of them is read, and their values from what was read. Needs no GPU: a
 * chip is named ("GH100").
 *
 * A metric is a counter, ratio or throughput with what to make of it over all units:
 * dram__bytes.sum, lts__t_sector_hit_rate.pct. NVIDIA's documentation of Nsight Compute explains
 * the names.
 *
 * Not thread-safe: the caller locks.
 */
#ifndef CUPTI_TRACE_HW_COUNTER_HOST_H
#define CUPTI_TRACE_HW_COUNTER_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "cupti_trace/hw/profiler_abi.h"
#include "cupti_trace/wire/gpu_event.h"

struct profiler_api {
#define X(name, parameter, is_target) int (*name)(parameter);
	PROFILER_ABI_FUNCTIONS(X)
#undef X
	int (*cuptiGetDeviceId)(void *context, uint32_t *device);
};

/* The functions of a loaded libcupti. False: it lacks host functions or, with `target`, others. */
bool profiler_api_resolve(struct profiler_api *api, void *handle, bool target);

struct counter_host {
	const struct profiler_api *api;
	void *host;
	const char *names[GPU_METRICS_MAX]; /* borrowed */
	uint32_t count;
	uint8_t *config; /* once it was made */
	size_t config_size;
	size_t passes; /* that a kernel is run for */
};

/*
 * `availability`: what can be read on a certain GPU; NULL: all that the chip has. 0 or a
 * CUptiResult, as of all functions here.
 */
int counter_host_open(struct counter_host *host, const struct profiler_api *api, const char *chip,
		      const uint8_t *availability);
void counter_host_close(struct counter_host *host);

/* Adds a metric; an error: there is none of that name, or no room. */
int counter_host_add(struct counter_host *host, const char *metric);

/* Those that --metrics default stands for; NULL ends them. */
extern const char *const counter_host_default[];

/* Decides in which passes the metrics are read. -1: out of memory. */
int counter_host_configure(struct counter_host *host);

struct counter_properties {
	const char *description, *unit; /* "" if there is none; valid as long as the host */
};
int counter_host_describe(const struct counter_host *host, const char *metric,
			  struct counter_properties *properties);

/*
 * The endings, one of which a metric's name needs behind its first part: ".avg, .max, .sum" of
 * "dram__bytes" and of "dram__bytes.total". The short ones, if there are any. False: nothing there
 * is has such a name; `text` is "".
 */
#define COUNTER_ENDINGS_BYTES 256
bool counter_host_endings(const struct counter_host *host, const char *metric,
			  char text[COUNTER_ENDINGS_BYTES]);

/* The values of all metrics in one range of counter data, by their order. */
int counter_host_evaluate(struct counter_host *host, const uint8_t *data, size_t size, size_t range,
			  double *values);

#endif
