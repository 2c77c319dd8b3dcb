// SPDX-License-Identifier: MIT
/*
 * Each call of CUPTI's range profiler by itself, with NVIDIA's headers, and what it returns: where
 * the profiler's own way fails, this tells which call of it does. Also whether activity records
 *come of each run of a kernel that is replayed.
 *
 *	counters_probe [callback] [push] METRIC...
 *
 * "callback": the profiler is started and stopped in the launch's callbacks, as profile does;
 * "push": with a range around the launch.
 */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda.h>
#include <cupti.h>
#include <cupti_profiler_host.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>
#include <vector>

static const char *text(CUptiResult result)
{
	const char *string = "";

	cuptiGetResultString(result, &string);
	return string;
}

static bool all_well = true;
static bool say(const char *call, CUptiResult result)
{
	printf("%s: %d %s\n", call, (int)result, text(result));
	all_well &= result == CUPTI_SUCCESS;
	return result == CUPTI_SUCCESS;
}

#define CALL(function, type, params)            \
	params.structSize = type##_STRUCT_SIZE; \
	say(#function, function(&params))

__global__ void probed(float *out)
{
	out[blockIdx.x * blockDim.x + threadIdx.x] += 1;
}

static std::vector<const char *> metrics;
static CUpti_Profiler_Host_Object *host;
static CUpti_RangeProfiler_Object *profiler;
static std::vector<uint8_t> config, data;
static bool pushes, in_callback;

static void start()
{
	CUpti_RangeProfiler_Start_Params p = {};
	CUpti_RangeProfiler_PushRange_Params push = {};

	p.pRangeProfilerObject = profiler;
	CALL(cuptiRangeProfilerStart, CUpti_RangeProfiler_Start_Params, p);
	if (!pushes)
		return;
	push.pRangeProfilerObject = profiler;
	push.pRangeName = "probed";
	CALL(cuptiRangeProfilerPushRange, CUpti_RangeProfiler_PushRange_Params, push);
}

static void clear_data()
{
	CUpti_RangeProfiler_CounterDataImage_Initialize_Params p = {};

	p.pRangeProfilerObject = profiler;
	p.counterDataSize = data.size();
	p.pCounterData = data.data();
	CALL(cuptiRangeProfilerCounterDataImageInitialize,
	     CUpti_RangeProfiler_CounterDataImage_Initialize_Params, p);
}

static void stop()
{
	CUpti_RangeProfiler_PopRange_Params pop = {};
	CUpti_RangeProfiler_Stop_Params p = {};
	CUpti_RangeProfiler_DecodeData_Params decode = {};
	CUpti_RangeProfiler_GetCounterDataInfo_Params info = {};
	CUpti_Profiler_Host_EvaluateToGpuValues_Params evaluate = {};
	std::vector<double> values(metrics.size());

	if (pushes) {
		pop.pRangeProfilerObject = profiler;
		CALL(cuptiRangeProfilerPopRange, CUpti_RangeProfiler_PopRange_Params, pop);
	}
	p.pRangeProfilerObject = decode.pRangeProfilerObject = profiler;
	CALL(cuptiRangeProfilerStop, CUpti_RangeProfiler_Stop_Params, p);
	printf("all passes submitted %d, pass %zu\n", p.isAllPassSubmitted, p.passIndex);
	CALL(cuptiRangeProfilerDecodeData, CUpti_RangeProfiler_DecodeData_Params, decode);
	info.pCounterDataImage = evaluate.pCounterDataImage = data.data();
	info.counterDataImageSize = evaluate.counterDataImageSize = data.size();
	CALL(cuptiRangeProfilerGetCounterDataInfo, CUpti_RangeProfiler_GetCounterDataInfo_Params,
	     info);
	printf("ranges %zu, dropped %zu\n", info.numTotalRanges, decode.numOfRangeDropped);
	for (size_t range = 0; range < info.numTotalRanges; range++) {
		evaluate.pHostObject = host;
		evaluate.rangeIndex = range;
		evaluate.ppMetricNames = metrics.data();
		evaluate.numMetrics = metrics.size();
		evaluate.pMetricValues = values.data();
		CALL(cuptiProfilerHostEvaluateToGpuValues,
		     CUpti_Profiler_Host_EvaluateToGpuValues_Params, evaluate);
		for (size_t i = 0; i < metrics.size(); i++)
			printf("value %zu %s %.17g\n", range, metrics[i], values[i]);
	}
	clear_data();
}

static void on_callback(void *, CUpti_CallbackDomain, CUpti_CallbackId, const void *cbdata)
{
	const CUpti_CallbackData *d = (const CUpti_CallbackData *)cbdata;

	printf("callback %s of %s, symbol %s, correlation %u\n",
	       d->callbackSite == CUPTI_API_ENTER ? "entry" : "exit", d->functionName,
	       d->symbolName ? d->symbolName : "-", d->correlationId);
	if (!in_callback || !profiler)
		return;
	if (d->callbackSite == CUPTI_API_ENTER)
		start();
	else
		stop();
}

static void give_buffer(uint8_t **buffer, size_t *size, size_t *records)
{
	*size = 1 << 20;
	*buffer = (uint8_t *)aligned_alloc(8, *size);
	*records = 0;
}

static void take_buffer(CUcontext, uint32_t, uint8_t *buffer, size_t, size_t valid)
{
	CUpti_Activity *record = NULL;

	while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) {
		if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
			CUpti_ActivityKernel10 *k = (CUpti_ActivityKernel10 *)record;

			printf("record kernel %s correlation %u %llu ns\n", k->name,
			       k->correlationId, (unsigned long long)(k->end - k->start));
		} else if (record->kind == CUPTI_ACTIVITY_KIND_MEMCPY) {
			CUpti_ActivityMemcpy6 *m = (CUpti_ActivityMemcpy6 *)record;

			printf("record copy kind %d correlation %u %llu bytes\n", m->copyKind,
			       m->correlationId, (unsigned long long)m->bytes);
		} else if (record->kind == CUPTI_ACTIVITY_KIND_MEMORY2) {
			CUpti_ActivityMemory4 *m = (CUpti_ActivityMemory4 *)record;

			printf("record memory operation %d correlation %u %llu bytes\n",
			       m->memoryOperationType, m->correlationId,
			       (unsigned long long)m->bytes);
		} else {
			printf("record of kind %d\n", record->kind);
		}
	}
	free(buffer);
}

static void configure(CUcontext context)
{
	CUpti_Profiler_Initialize_Params initialize = {};
	CUpti_Device_GetChipName_Params chip = {};
	CUpti_Profiler_GetCounterAvailability_Params available = {};
	CUpti_Profiler_Host_Initialize_Params begin = {};
	CUpti_Profiler_Host_ConfigAddMetrics_Params add = {};
	CUpti_Profiler_Host_GetConfigImageSize_Params size = {};
	CUpti_Profiler_Host_GetConfigImage_Params image = {};
	CUpti_Profiler_Host_GetNumOfPasses_Params passes = {};
	std::vector<uint8_t> availability;

	CALL(cuptiProfilerInitialize, CUpti_Profiler_Initialize_Params, initialize);
	CALL(cuptiDeviceGetChipName, CUpti_Device_GetChipName_Params, chip);
	printf("chip %s\n", chip.pChipName ? chip.pChipName : "-");
	available.ctx = context;
	CALL(cuptiProfilerGetCounterAvailability, CUpti_Profiler_GetCounterAvailability_Params,
	     available);
	availability.resize(available.counterAvailabilityImageSize);
	available.pCounterAvailabilityImage = availability.data();
	CALL(cuptiProfilerGetCounterAvailability, CUpti_Profiler_GetCounterAvailability_Params,
	     available);
	begin.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
	begin.pChipName = chip.pChipName;
	begin.pCounterAvailabilityImage = availability.data();
	CALL(cuptiProfilerHostInitialize, CUpti_Profiler_Host_Initialize_Params, begin);
	host = begin.pHostObject;
	add.pHostObject = size.pHostObject = image.pHostObject = host;
	add.ppMetricNames = metrics.data();
	add.numMetrics = metrics.size();
	CALL(cuptiProfilerHostConfigAddMetrics, CUpti_Profiler_Host_ConfigAddMetrics_Params, add);
	CALL(cuptiProfilerHostGetConfigImageSize, CUpti_Profiler_Host_GetConfigImageSize_Params,
	     size);
	config.resize(size.configImageSize);
	image.configImageSize = passes.configImageSize = config.size();
	image.pConfigImage = passes.pConfigImage = config.data();
	CALL(cuptiProfilerHostGetConfigImage, CUpti_Profiler_Host_GetConfigImage_Params, image);
	CALL(cuptiProfilerHostGetNumOfPasses, CUpti_Profiler_Host_GetNumOfPasses_Params, passes);
	printf("passes %zu, configuration %zu bytes\n", passes.numOfPasses, config.size());
}

static void enable(CUcontext context)
{
	CUpti_RangeProfiler_Enable_Params p = {};
	CUpti_RangeProfiler_GetCounterDataSize_Params size = {};
	CUpti_RangeProfiler_SetConfig_Params set = {};

	p.ctx = context;
	CALL(cuptiRangeProfilerEnable, CUpti_RangeProfiler_Enable_Params, p);
	profiler = p.pRangeProfilerObject;
	size.pRangeProfilerObject = set.pRangeProfilerObject = profiler;
	size.pMetricNames = metrics.data();
	size.numMetrics = metrics.size();
	size.maxNumOfRanges = size.maxNumRangeTreeNodes = 4;
	CALL(cuptiRangeProfilerGetCounterDataSize, CUpti_RangeProfiler_GetCounterDataSize_Params,
	     size);
	data.resize(size.counterDataSize);
	clear_data();
	set.configSize = config.size();
	set.pConfig = config.data();
	set.counterDataImageSize = data.size();
	set.pCounterDataImage = data.data();
	set.range = CUPTI_AutoRange;
	set.replayMode = CUPTI_KernelReplay;
	set.maxRangesPerPass = 4;
	set.numNestingLevels = 1;
	set.minNestingLevel = 1;
	CALL(cuptiRangeProfilerSetConfig, CUpti_RangeProfiler_SetConfig_Params, set);
}

int main(int argc, char **argv)
{
	CUpti_SubscriberHandle subscriber;
	CUcontext context = NULL;
	float *out;

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "callback") == 0)
			in_callback = true;
		else if (strcmp(argv[i], "push") == 0)
			pushes = true;
		else
			metrics.push_back(argv[i]);
	}
	say("cuptiSubscribe", cuptiSubscribe(&subscriber, (CUpti_CallbackFunc)on_callback, NULL));
	say("cuptiEnableCallback", cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API,
						       CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel));
	say("cuptiActivityRegisterCallbacks",
	    cuptiActivityRegisterCallbacks(give_buffer, take_buffer));
	say("cuptiActivityEnable", cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
	say("cuptiActivityEnable", cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMCPY));
	say("cuptiActivityEnable", cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMORY2));
	if (cudaMalloc(&out, 1 << 20) != cudaSuccess || cuCtxGetCurrent(&context) != CUDA_SUCCESS)
		return 1;
	probed<<<256, 256>>>(out);
	cudaDeviceSynchronize();
	configure(context);
	enable(context);
	for (int i = 0; i < 2; i++) {
		if (!in_callback)
			start();
		probed<<<256, 256>>>(out);
		if (!in_callback)
			stop();
	}
	printf("cudaDeviceSynchronize: %d\n", (int)cudaDeviceSynchronize());
	say("cuptiActivityFlushAll", cuptiActivityFlushAll(1));
	printf("all well %d\n", all_well);
	return !all_well;
}
