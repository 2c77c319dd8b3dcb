/* SPDX-License-Identifier: MIT */
/*
 * Describes and evaluates metrics of hardware counters, by CUPTI's host functions: the metrics of a
 * chip, their meaning, the passes that read a set of them, and values from raw data. Needs no GPU:
 * a chip is named ("GH100").
 *
 * A metric is a counter, ratio or throughput with a reduction over all units: dram__bytes.sum,
 * lts__t_sector_hit_rate.pct. NVIDIA's documentation of Nsight Compute explains the names.
 *
 * Not thread-safe: the caller locks. Functions return 0 or a CUptiResult.
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

/*
 * Resolves the functions of a loaded libcupti. Returns false if it lacks host functions or, with
 * `target`, others.
 */
bool profiler_api_resolve(struct profiler_api *api, void *handle, bool target);

struct counter_host {
	const struct profiler_api *api;
	void *host;
	const char *names[GPU_METRICS_MAX]; /* borrowed */
	uint32_t count;
	uint8_t *config; /* set by counter_host_configure */
	size_t config_size;
	size_t passes; /* number of runs of a kernel */
};

/* Opens a chip. `availability` limits metrics to those of a certain GPU; NULL: all of the chip. */
int counter_host_open(struct counter_host *host, const struct profiler_api *api, const char *chip,
		      const uint8_t *availability);
void counter_host_close(struct counter_host *host);

/* Adds a metric. Fails if there is none of that name, or no room. */
int counter_host_add(struct counter_host *host, const char *metric);

/* Metrics of "--counters default", ended by NULL. */
extern const char *const counter_host_default[];

/* Distributes the metrics over passes. Returns -1 when out of memory. */
int counter_host_configure(struct counter_host *host);

struct counter_properties {
	const char *description, *unit; /* "" if there is none; valid as long as the host */
};
int counter_host_describe(const struct counter_host *host, const char *metric,
			  struct counter_properties *properties);

/*
 * Lists endings, one of which must follow a metric's first part: ".avg, .max, .sum" for
 * "dram__bytes" and "dram__bytes.total". Prefers the short ones. Returns false and sets "" if no
 * metric has such a name.
 */
#define COUNTER_ENDINGS_BYTES 256
bool counter_host_endings(const struct counter_host *host, const char *metric,
			  char text[COUNTER_ENDINGS_BYTES]);

/* Computes the values of all metrics in one range of counter data, in their order. */
int counter_host_evaluate(struct counter_host *host, const uint8_t *data, size_t size, size_t range,
			  double *values);

#endif
