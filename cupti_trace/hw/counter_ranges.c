// SPDX-License-Identifier: MIT
#include "cupti_trace/hw/counter_ranges.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cupti_trace/core/cupti_abi.h"

#define RANGES 4 /* room for ranges: one is wanted, more must be detected */

/* Calls a function; notes it if it fails. */
#define CALL(ranges, function, params) \
	((ranges)->failed = #function, (ranges)->api->function(params))

static int find_chip(struct counter_ranges *r)
{
	struct profiler_abi_initialize initialize = {.size = PROFILER_ABI_INITIALIZE_SIZE};
	struct profiler_abi_chip chip = {.size = PROFILER_ABI_CHIP_SIZE};
	uint32_t device = 0;
	int result = CALL(r, cuptiProfilerInitialize, &initialize);

	if (result == CUPTI_ABI_SUCCESS) {
		r->failed = "cuptiGetDeviceId";
		result = r->api->cuptiGetDeviceId(r->context, &device);
	}
	chip.device = device;
	if (result == CUPTI_ABI_SUCCESS)
		result = CALL(r, cuptiDeviceGetChipName, &chip);
	if (result == CUPTI_ABI_SUCCESS)
		snprintf(r->chip, sizeof(r->chip), "%s", chip.name ? chip.name : "");
	return result;
}

/* Reads which counters are available. Call before the profiler is enabled. */
static int find_availability(struct counter_ranges *r)
{
	struct profiler_abi_availability params = {.size = PROFILER_ABI_AVAILABILITY_SIZE,
						   .context = r->context};
	int result = CALL(r, cuptiProfilerGetCounterAvailability, &params);

	if (result != CUPTI_ABI_SUCCESS)
		return result;
	r->availability = malloc(params.image_size ? params.image_size : 1);
	if (!r->availability)
		return -1;
	params.image = r->availability;
	return CALL(r, cuptiProfilerGetCounterAvailability, &params);
}

int counter_ranges_open(struct counter_ranges *r, const struct profiler_api *api, void *context)
{
	int result;

	memset(r, 0, sizeof(*r));
	r->api = api;
	r->context = context;
	result = find_chip(r);
	if (result == CUPTI_ABI_SUCCESS)
		result = find_availability(r);
	if (result == CUPTI_ABI_SUCCESS) {
		r->failed = "cuptiProfilerHostInitialize";
		result = counter_host_open(&r->host, api, r->chip, r->availability);
	}
	return result;
}

/* Empties the counter data, as decoding appends ranges. */
static int clear_data(struct counter_ranges *r)
{
	struct profiler_abi_data params = {.size = PROFILER_ABI_DATA_SIZE,
					   .profiler = r->profiler,
					   .data_size = r->data_size,
					   .data = r->data};

	return CALL(r, cuptiRangeProfilerCounterDataImageInitialize, &params);
}

static int make_data(struct counter_ranges *r)
{
	struct profiler_abi_data_size params = {.size = PROFILER_ABI_DATA_SIZE_SIZE,
						.profiler = r->profiler,
						.names = r->host.names,
						.count = r->host.count,
						.ranges = RANGES,
						.range_nodes = RANGES};
	int result = CALL(r, cuptiRangeProfilerGetCounterDataSize, &params);

	if (result != CUPTI_ABI_SUCCESS)
		return result;
	r->data_size = params.data_size;
	r->data = malloc(params.data_size ? params.data_size : 1);
	return r->data ? clear_data(r) : -1;
}

static int set_config(struct counter_ranges *r)
{
	struct profiler_abi_set_config params = {.size = PROFILER_ABI_SET_CONFIG_SIZE,
						 .profiler = r->profiler,
						 .config_size = r->host.config_size,
						 .config = r->host.config,
						 .data_size = r->data_size,
						 .data = r->data,
						 .range = PROFILER_ABI_AUTO_RANGE,
						 .replay = PROFILER_ABI_KERNEL_REPLAY,
						 .ranges_per_pass = RANGES,
						 .nesting_levels = 1,
						 .first_level = 1};

	return CALL(r, cuptiRangeProfilerSetConfig, &params);
}

int counter_ranges_begin(struct counter_ranges *r)
{
	struct profiler_abi_enable enable = {.size = PROFILER_ABI_ENABLE_SIZE,
					     .context = r->context};
	int result;

	r->failed = "cuptiProfilerHostGetConfigImage";
	result = counter_host_configure(&r->host);
	if (result == CUPTI_ABI_SUCCESS)
		result = CALL(r, cuptiRangeProfilerEnable, &enable);
	if (result == CUPTI_ABI_SUCCESS) {
		r->profiler = enable.profiler;
		result = make_data(r);
	}
	if (result == CUPTI_ABI_SUCCESS)
		result = set_config(r);
	return result;
}

void counter_ranges_close(struct counter_ranges *r, bool is_gone)
{
	if (r->profiler && !is_gone)
		r->api->cuptiRangeProfilerDisable(&(struct profiler_abi_ranges){
			.size = PROFILER_ABI_RANGES_SIZE, .profiler = r->profiler});
	counter_host_close(&r->host);
	free(r->data);
	free(r->availability);
	memset(r, 0, sizeof(*r));
}

int counter_ranges_start(struct counter_ranges *r)
{
	struct profiler_abi_ranges params = {.size = PROFILER_ABI_RANGES_SIZE,
					     .profiler = r->profiler};

	return CALL(r, cuptiRangeProfilerStart, &params);
}

int counter_ranges_stop(struct counter_ranges *r)
{
	struct profiler_abi_stop params = {.size = PROFILER_ABI_STOP_SIZE, .profiler = r->profiler};

	return CALL(r, cuptiRangeProfilerStop, &params);
}

static int count_ranges(struct counter_ranges *r, size_t *kernels)
{
	struct profiler_abi_decode decode = {.size = PROFILER_ABI_DECODE_SIZE,
					     .profiler = r->profiler};
	struct profiler_abi_data_info info = {.size = PROFILER_ABI_DATA_INFO_SIZE};
	int result = CALL(r, cuptiRangeProfilerDecodeData, &decode);

	info.data = r->data;
	info.data_size = r->data_size;
	if (result == CUPTI_ABI_SUCCESS)
		result = CALL(r, cuptiRangeProfilerGetCounterDataInfo, &info);
	*kernels = info.ranges + decode.dropped;
	return result;
}

int counter_ranges_read(struct counter_ranges *r, double *values, size_t *kernels)
{
	int result = count_ranges(r, kernels), cleared;
	const char *failed;

	if (result == CUPTI_ABI_SUCCESS && *kernels == 1) {
		r->failed = "cuptiProfilerHostEvaluateToGpuValues";
		result = counter_host_evaluate(&r->host, r->data, r->data_size, 0, values);
	}
	failed = r->failed;
	cleared = clear_data(r);
	if (result == CUPTI_ABI_SUCCESS)
		return cleared;
	r->failed = failed;
	return result;
}
