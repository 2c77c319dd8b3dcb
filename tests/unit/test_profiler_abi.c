/* SPDX-License-Identifier: MIT */
/*
 * Compares cupti_trace/hw/profiler_abi.h with NVIDIA's headers, if they are installed: while
 * compiling, so that a mistake does not build. And calls the host functions of a real libcupti,
 * which need no GPU, through our own code.
 */
#include "unit.h"
#include <dlfcn.h>
#include "cupti_trace/hw/counter_host.h"
#include "cupti_trace/core/cupti_abi.h"

#if defined(__has_include) && __has_include(<cupti_range_profiler.h>) && __has_include(<cuda.h>)
#include <cupti.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>
#define HAVE_CUPTI 1
#endif

#ifdef HAVE_CUPTI

#define SAME(ours, theirs) _Static_assert((long long)(ours) == (long long)(theirs), #theirs)
#define WHOLE(ours, theirs, our_size)                                                   \
	SAME(our_size, theirs##_STRUCT_SIZE);                                           \
	SAME(sizeof(struct profiler_abi_##ours), sizeof(theirs));                       \
	SAME(offsetof(struct profiler_abi_##ours, size), offsetof(theirs, structSize)); \
	SAME(offsetof(struct profiler_abi_##ours, priv), offsetof(theirs, pPriv))
#define MEMBER(ours, our_member, theirs, their_member)                                          \
	SAME(offsetof(struct profiler_abi_##ours, our_member), offsetof(theirs, their_member)); \
	SAME(sizeof(((struct profiler_abi_##ours *)0)->our_member),                             \
	     sizeof(((theirs *)0)->their_member))

SAME(PROFILER_ABI_ERROR_INVALID_OPERATION, CUPTI_ERROR_INVALID_OPERATION);
SAME(PROFILER_ABI_ERROR_INVALID_METRIC_NAME, CUPTI_ERROR_INVALID_METRIC_NAME);
SAME(PROFILER_ABI_ERROR_HARDWARE_BUSY, CUPTI_ERROR_HARDWARE_BUSY);
SAME(PROFILER_ABI_ERROR_VIRTUAL_PRIVILEGES, CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES);
SAME(PROFILER_ABI_ERROR_MIG, CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED);
SAME(PROFILER_ABI_RANGE_PROFILER, CUPTI_PROFILER_TYPE_RANGE_PROFILER);
SAME(PROFILER_ABI_AUTO_RANGE, CUPTI_AutoRange);
SAME(PROFILER_ABI_USER_RANGE, CUPTI_UserRange);
SAME(PROFILER_ABI_KERNEL_REPLAY, CUPTI_KernelReplay);
SAME(PROFILER_ABI_USER_REPLAY, CUPTI_UserReplay);
SAME(PROFILER_ABI_COUNTER, CUPTI_METRIC_TYPE_COUNTER);
SAME(PROFILER_ABI_RATIO, CUPTI_METRIC_TYPE_RATIO);
SAME(PROFILER_ABI_THROUGHPUT, CUPTI_METRIC_TYPE_THROUGHPUT);
SAME(PROFILER_ABI_METRIC_TYPES, CUPTI_METRIC_TYPE__COUNT);

WHOLE(initialize, CUpti_Profiler_Initialize_Params, PROFILER_ABI_INITIALIZE_SIZE);
MEMBER(initialize, priv, CUpti_Profiler_Initialize_Params, pPriv);
WHOLE(chip, CUpti_Device_GetChipName_Params, PROFILER_ABI_CHIP_SIZE);
MEMBER(chip, device, CUpti_Device_GetChipName_Params, deviceIndex);
MEMBER(chip, name, CUpti_Device_GetChipName_Params, pChipName);
WHOLE(availability, CUpti_Profiler_GetCounterAvailability_Params, PROFILER_ABI_AVAILABILITY_SIZE);
MEMBER(availability, context, CUpti_Profiler_GetCounterAvailability_Params, ctx);
MEMBER(availability, image_size, CUpti_Profiler_GetCounterAvailability_Params,
       counterAvailabilityImageSize);
MEMBER(availability, image, CUpti_Profiler_GetCounterAvailability_Params,
       pCounterAvailabilityImage);
WHOLE(host, CUpti_Profiler_Host_Initialize_Params, PROFILER_ABI_HOST_SIZE);
MEMBER(host, profiler_type, CUpti_Profiler_Host_Initialize_Params, profilerType);
MEMBER(host, chip, CUpti_Profiler_Host_Initialize_Params, pChipName);
MEMBER(host, availability, CUpti_Profiler_Host_Initialize_Params, pCounterAvailabilityImage);
MEMBER(host, host, CUpti_Profiler_Host_Initialize_Params, pHostObject);
WHOLE(host_end, CUpti_Profiler_Host_Deinitialize_Params, PROFILER_ABI_HOST_END_SIZE);
MEMBER(host_end, host, CUpti_Profiler_Host_Deinitialize_Params, pHostObject);
WHOLE(chips, CUpti_Profiler_Host_GetSupportedChips_Params, PROFILER_ABI_CHIPS_SIZE);
MEMBER(chips, count, CUpti_Profiler_Host_GetSupportedChips_Params, numChips);
MEMBER(chips, names, CUpti_Profiler_Host_GetSupportedChips_Params, ppChipNames);
WHOLE(base_metrics, CUpti_Profiler_Host_GetBaseMetrics_Params, PROFILER_ABI_BASE_METRICS_SIZE);
MEMBER(base_metrics, host, CUpti_Profiler_Host_GetBaseMetrics_Params, pHostObject);
MEMBER(base_metrics, type, CUpti_Profiler_Host_GetBaseMetrics_Params, metricType);
MEMBER(base_metrics, names, CUpti_Profiler_Host_GetBaseMetrics_Params, ppMetricNames);
MEMBER(base_metrics, count, CUpti_Profiler_Host_GetBaseMetrics_Params, numMetrics);
WHOLE(sub_metrics, CUpti_Profiler_Host_GetSubMetrics_Params, PROFILER_ABI_SUB_METRICS_SIZE);
MEMBER(sub_metrics, host, CUpti_Profiler_Host_GetSubMetrics_Params, pHostObject);
MEMBER(sub_metrics, type, CUpti_Profiler_Host_GetSubMetrics_Params, metricType);
MEMBER(sub_metrics, metric, CUpti_Profiler_Host_GetSubMetrics_Params, pMetricName);
MEMBER(sub_metrics, count, CUpti_Profiler_Host_GetSubMetrics_Params, numOfSubmetrics);
MEMBER(sub_metrics, names, CUpti_Profiler_Host_GetSubMetrics_Params, ppSubMetrics);
WHOLE(properties, CUpti_Profiler_Host_GetMetricProperties_Params, PROFILER_ABI_PROPERTIES_SIZE);
MEMBER(properties, host, CUpti_Profiler_Host_GetMetricProperties_Params, pHostObject);
MEMBER(properties, metric, CUpti_Profiler_Host_GetMetricProperties_Params, pMetricName);
MEMBER(properties, description, CUpti_Profiler_Host_GetMetricProperties_Params, pDescription);
MEMBER(properties, hardware_unit, CUpti_Profiler_Host_GetMetricProperties_Params, pHwUnit);
MEMBER(properties, unit, CUpti_Profiler_Host_GetMetricProperties_Params, pDimUnit);
MEMBER(properties, type, CUpti_Profiler_Host_GetMetricProperties_Params, metricType);
WHOLE(add_metrics, CUpti_Profiler_Host_ConfigAddMetrics_Params, PROFILER_ABI_ADD_METRICS_SIZE);
MEMBER(add_metrics, host, CUpti_Profiler_Host_ConfigAddMetrics_Params, pHostObject);
MEMBER(add_metrics, names, CUpti_Profiler_Host_ConfigAddMetrics_Params, ppMetricNames);
MEMBER(add_metrics, count, CUpti_Profiler_Host_ConfigAddMetrics_Params, numMetrics);
WHOLE(config_size, CUpti_Profiler_Host_GetConfigImageSize_Params, PROFILER_ABI_CONFIG_SIZE_SIZE);
MEMBER(config_size, host, CUpti_Profiler_Host_GetConfigImageSize_Params, pHostObject);
MEMBER(config_size, image_size, CUpti_Profiler_Host_GetConfigImageSize_Params, configImageSize);
WHOLE(config, CUpti_Profiler_Host_GetConfigImage_Params, PROFILER_ABI_CONFIG_SIZE);
MEMBER(config, host, CUpti_Profiler_Host_GetConfigImage_Params, pHostObject);
MEMBER(config, image_size, CUpti_Profiler_Host_GetConfigImage_Params, configImageSize);
MEMBER(config, image, CUpti_Profiler_Host_GetConfigImage_Params, pConfigImage);
WHOLE(passes, CUpti_Profiler_Host_GetNumOfPasses_Params, PROFILER_ABI_PASSES_SIZE);
MEMBER(passes, image_size, CUpti_Profiler_Host_GetNumOfPasses_Params, configImageSize);
MEMBER(passes, image, CUpti_Profiler_Host_GetNumOfPasses_Params, pConfigImage);
MEMBER(passes, count, CUpti_Profiler_Host_GetNumOfPasses_Params, numOfPasses);
WHOLE(evaluate, CUpti_Profiler_Host_EvaluateToGpuValues_Params, PROFILER_ABI_EVALUATE_SIZE);
MEMBER(evaluate, host, CUpti_Profiler_Host_EvaluateToGpuValues_Params, pHostObject);
MEMBER(evaluate, image, CUpti_Profiler_Host_EvaluateToGpuValues_Params, pCounterDataImage);
MEMBER(evaluate, image_size, CUpti_Profiler_Host_EvaluateToGpuValues_Params, counterDataImageSize);
MEMBER(evaluate, range, CUpti_Profiler_Host_EvaluateToGpuValues_Params, rangeIndex);
MEMBER(evaluate, names, CUpti_Profiler_Host_EvaluateToGpuValues_Params, ppMetricNames);
MEMBER(evaluate, count, CUpti_Profiler_Host_EvaluateToGpuValues_Params, numMetrics);
MEMBER(evaluate, values, CUpti_Profiler_Host_EvaluateToGpuValues_Params, pMetricValues);
WHOLE(enable, CUpti_RangeProfiler_Enable_Params, PROFILER_ABI_ENABLE_SIZE);
MEMBER(enable, context, CUpti_RangeProfiler_Enable_Params, ctx);
MEMBER(enable, profiler, CUpti_RangeProfiler_Enable_Params, pRangeProfilerObject);
WHOLE(ranges, CUpti_RangeProfiler_Disable_Params, PROFILER_ABI_RANGES_SIZE);
MEMBER(ranges, profiler, CUpti_RangeProfiler_Disable_Params, pRangeProfilerObject);
WHOLE(ranges, CUpti_RangeProfiler_Start_Params, PROFILER_ABI_RANGES_SIZE);
MEMBER(ranges, profiler, CUpti_RangeProfiler_Start_Params, pRangeProfilerObject);
WHOLE(set_config, CUpti_RangeProfiler_SetConfig_Params, PROFILER_ABI_SET_CONFIG_SIZE);
MEMBER(set_config, profiler, CUpti_RangeProfiler_SetConfig_Params, pRangeProfilerObject);
MEMBER(set_config, config_size, CUpti_RangeProfiler_SetConfig_Params, configSize);
MEMBER(set_config, config, CUpti_RangeProfiler_SetConfig_Params, pConfig);
MEMBER(set_config, data_size, CUpti_RangeProfiler_SetConfig_Params, counterDataImageSize);
MEMBER(set_config, data, CUpti_RangeProfiler_SetConfig_Params, pCounterDataImage);
MEMBER(set_config, range, CUpti_RangeProfiler_SetConfig_Params, range);
MEMBER(set_config, replay, CUpti_RangeProfiler_SetConfig_Params, replayMode);
MEMBER(set_config, ranges_per_pass, CUpti_RangeProfiler_SetConfig_Params, maxRangesPerPass);
MEMBER(set_config, nesting_levels, CUpti_RangeProfiler_SetConfig_Params, numNestingLevels);
MEMBER(set_config, first_level, CUpti_RangeProfiler_SetConfig_Params, minNestingLevel);
MEMBER(set_config, pass, CUpti_RangeProfiler_SetConfig_Params, passIndex);
MEMBER(set_config, target_level, CUpti_RangeProfiler_SetConfig_Params, targetNestingLevel);
WHOLE(stop, CUpti_RangeProfiler_Stop_Params, PROFILER_ABI_STOP_SIZE);
MEMBER(stop, profiler, CUpti_RangeProfiler_Stop_Params, pRangeProfilerObject);
MEMBER(stop, pass, CUpti_RangeProfiler_Stop_Params, passIndex);
MEMBER(stop, target_level, CUpti_RangeProfiler_Stop_Params, targetNestingLevel);
MEMBER(stop, all_submitted, CUpti_RangeProfiler_Stop_Params, isAllPassSubmitted);
WHOLE(decode, CUpti_RangeProfiler_DecodeData_Params, PROFILER_ABI_DECODE_SIZE);
MEMBER(decode, profiler, CUpti_RangeProfiler_DecodeData_Params, pRangeProfilerObject);
MEMBER(decode, dropped, CUpti_RangeProfiler_DecodeData_Params, numOfRangeDropped);
WHOLE(data_size, CUpti_RangeProfiler_GetCounterDataSize_Params, PROFILER_ABI_DATA_SIZE_SIZE);
MEMBER(data_size, profiler, CUpti_RangeProfiler_GetCounterDataSize_Params, pRangeProfilerObject);
MEMBER(data_size, names, CUpti_RangeProfiler_GetCounterDataSize_Params, pMetricNames);
MEMBER(data_size, count, CUpti_RangeProfiler_GetCounterDataSize_Params, numMetrics);
MEMBER(data_size, ranges, CUpti_RangeProfiler_GetCounterDataSize_Params, maxNumOfRanges);
MEMBER(data_size, range_nodes, CUpti_RangeProfiler_GetCounterDataSize_Params, maxNumRangeTreeNodes);
MEMBER(data_size, data_size, CUpti_RangeProfiler_GetCounterDataSize_Params, counterDataSize);
WHOLE(data, CUpti_RangeProfiler_CounterDataImage_Initialize_Params, PROFILER_ABI_DATA_SIZE);
MEMBER(data, profiler, CUpti_RangeProfiler_CounterDataImage_Initialize_Params,
       pRangeProfilerObject);
MEMBER(data, data_size, CUpti_RangeProfiler_CounterDataImage_Initialize_Params, counterDataSize);
MEMBER(data, data, CUpti_RangeProfiler_CounterDataImage_Initialize_Params, pCounterData);
WHOLE(data_info, CUpti_RangeProfiler_GetCounterDataInfo_Params, PROFILER_ABI_DATA_INFO_SIZE);
MEMBER(data_info, data, CUpti_RangeProfiler_GetCounterDataInfo_Params, pCounterDataImage);
MEMBER(data_info, data_size, CUpti_RangeProfiler_GetCounterDataInfo_Params, counterDataImageSize);
MEMBER(data_info, ranges, CUpti_RangeProfiler_GetCounterDataInfo_Params, numTotalRanges);

/* Each takes a pointer to one of those, and returns an int. */
#define X(name, parameter, is_target) \
	_Static_assert(sizeof(name(NULL)) == sizeof(int) && sizeof(parameter) > 0, #name);
PROFILER_ABI_FUNCTIONS(X)
#undef X

#endif

/* Opens a real CUPTI, with the libraries it needs, or returns NULL. */
static void *open_cupti(void)
{
	static const char *const paths[] = {"/usr/local/cuda/lib64/libcupti.so",
					    "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so",
					    "/usr/local/cuda/targets/x86_64-linux/lib/libcupti.so"};
	void *handle = NULL;

#ifdef __SANITIZE_ADDRESS__
	return NULL;
#endif
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]) && !handle; i++)
		handle = dlopen(paths[i], RTLD_NOW | RTLD_LOCAL);
	return handle;
}

static void the_declarations_are_those_of_the_headers(void **state)
{
	(void)state;
#ifndef HAVE_CUPTI
	SKIP("no CUPTI headers with a range profiler here");
#endif
}

static void open_host(struct profiler_api *api, struct counter_host *host)
{
	void *handle = open_cupti();

#ifdef __SANITIZE_ADDRESS__
	SKIP("libcupti loads libraries with RTLD_DEEPBIND, which AddressSanitizer refuses");
#endif
	if (!handle || !profiler_api_resolve(api, handle, true))
		SKIP("no libcupti of CUDA 12.6 or later here");
	assert_int_equal(counter_host_open(host, api, "GH100", NULL), 0);
}

static void a_real_cupti_knows_the_default_metrics(void **state)
{
	struct counter_properties properties;
	struct profiler_api api;
	struct counter_host host;
	size_t passes;

	(void)state;
	open_host(&api, &host);
	for (const char *const *name = counter_host_default; *name; name++) {
		assert_int_equal(counter_host_add(&host, *name), 0);
		assert_int_equal(counter_host_describe(&host, *name, &properties), 0);
		assert_true(properties.description[0] && properties.unit[0]);
	}
	assert_string_equal(host.names[5], "dram__bytes.sum");
	assert_int_equal(counter_host_configure(&host), 0);
	assert_true(host.config_size > 0 && host.passes > 1 && host.passes < 100);
	passes = host.passes;
	/* metrics already present add nothing */
	assert_int_equal(counter_host_add(&host, "dram__bytes.sum"), 0);
	assert_int_equal(counter_host_configure(&host), 0);
	assert_int_equal(host.passes, passes);
	counter_host_close(&host);
}

static void a_real_cupti_refuses_what_there_is_not(void **state)
{
	struct counter_host host, other;
	struct counter_properties properties;
	struct profiler_api api;

	(void)state;
	open_host(&api, &host);
	assert_int_not_equal(counter_host_add(&host, "no__such_metric.sum"), 0);
	assert_int_not_equal(counter_host_add(&host, "dram__bytes"), 0); /* no rollup operation */
	assert_int_equal(host.count, 0);
	assert_int_not_equal(counter_host_describe(&host, "no__such_metric", &properties), 0);
	assert_string_equal(properties.unit, "");
	assert_int_not_equal(counter_host_open(&other, &api, "XX100", NULL), 0);
	counter_host_close(&host);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_declarations_are_those_of_the_headers),
		cmocka_unit_test(a_real_cupti_knows_the_default_metrics),
		cmocka_unit_test(a_real_cupti_refuses_what_there_is_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
