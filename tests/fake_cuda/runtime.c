/* SPDX-License-Identifier: MIT */
/* The fake runtime: devices, streams, events, errors. */
#include "runtime.h"
#include "cbid.h"

#include <stdlib.h>

#define EVENT_MAGIC 0x45564e54u

struct fake_cuda_event {
	uint32_t magic;
	bool recorded;
	uint64_t time; /* when the earlier work on its stream ends */
};

CUDART_EXPORT cudaError_t cudaGetDeviceCount(int *count)
{
	struct {
		int *count;
	} params = {count};
	RUNTIME_CALL("cudaGetDeviceCount", FAKE_RT_cudaGetDeviceCount, driver->device_count(count));
}

CUDART_EXPORT cudaError_t cudaSetDevice(int device)
{
	struct {
		int device;
	} params = {device};
	RUNTIME_CALL("cudaSetDevice", FAKE_RT_cudaSetDevice, driver->set_device(device));
}

CUDART_EXPORT cudaError_t cudaGetDevice(int *device)
{
	struct {
		int *device;
	} params = {device};
	RUNTIME_CALL("cudaGetDevice", FAKE_RT_cudaGetDevice,
		     device ? (*device = driver->get_device(), cudaSuccess)
			    : cudaErrorInvalidValue);
}

CUDART_EXPORT cudaError_t cudaProfilerStart(void)
{
	char params = 0;
	RUNTIME_CALL("cudaProfilerStart", FAKE_RT_cudaProfilerStart, cudaSuccess);
}

CUDART_EXPORT cudaError_t cudaProfilerStop(void)
{
	char params = 0;
	RUNTIME_CALL("cudaProfilerStop", FAKE_RT_cudaProfilerStop, cudaSuccess);
}

CUDART_EXPORT cudaError_t cudaDeviceSynchronize(void)
{
	char params = 0;
	RUNTIME_CALL("cudaDeviceSynchronize", FAKE_RT_cudaDeviceSynchronize,
		     driver->device_synchronize());
}

static cudaError_t device_reset(const struct fake_cuda_driver *driver)
{
	cudaError_t err = driver->device_reset();

	if (!err)
		runtime_forget_modules();
	return err;
}

CUDART_EXPORT cudaError_t cudaDeviceReset(void)
{
	char params = 0;
	RUNTIME_CALL("cudaDeviceReset", FAKE_RT_cudaDeviceReset, device_reset(driver));
}

/* As with CUDA, these have callbacks whose result is the error that they tell. */
static cudaError_t tell_last_error(const char *api, uint32_t cbid, bool reset)
{
	const struct fake_cuda_driver *driver;
	cudaError_t result = cudaSuccess;
	char params = 0;
	struct fake_cuda_call call = {.domain = CUPTI_ABI_DOMAIN_RUNTIME_API,
				      .cbid = cbid,
				      .name = api,
				      .params = &params,
				      .result = &result};

	if (runtime_init(&driver) != cudaSuccess)
		return runtime_last_error(reset);
	driver->call_enter(&call);
	result = runtime_last_error(reset);
	driver->call_exit(&call);
	return result;
}

CUDART_EXPORT cudaError_t cudaGetLastError(void)
{
	return tell_last_error("cudaGetLastError", FAKE_RT_cudaGetLastError, true);
}

CUDART_EXPORT cudaError_t cudaPeekAtLastError(void)
{
	return tell_last_error("cudaPeekAtLastError", FAKE_RT_cudaPeekAtLastError, false);
}

static const struct {
	cudaError_t error;
	const char *name, *text;
} errors[] = {
	{cudaSuccess, "cudaSuccess", "no error"},
	{cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
	{cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
	{cudaErrorInitializationError, "cudaErrorInitializationError", "initialization error"},
	{cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration",
	 "invalid configuration argument"},
	{cudaErrorInvalidPitchValue, "cudaErrorInvalidPitchValue", "invalid pitch argument"},
	{cudaErrorInvalidMemcpyDirection, "cudaErrorInvalidMemcpyDirection",
	 "invalid copy direction for memcpy"},
	{cudaErrorInsufficientDriver, "cudaErrorInsufficientDriver",
	 "CUDA driver version is insufficient for CUDA runtime version"},
	{cudaErrorInvalidDeviceFunction, "cudaErrorInvalidDeviceFunction",
	 "invalid device function"},
	{cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle",
	 "invalid resource handle"},
	{cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
	{FAKE_CUDA_ERROR_NO_DEVICE, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
	{FAKE_CUDA_ERROR_INVALID_DEVICE, "cudaErrorInvalidDevice", "invalid device ordinal"},
	{cudaErrorGraphExecUpdateFailure, "cudaErrorGraphExecUpdateFailure",
	 "the graph update was not performed because it included changes which violated "
	 "constraints specific to instantiated graph update"},
	{FAKE_CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "cudaErrorStreamCaptureUnsupported",
	 "operation not permitted when stream is capturing"},
};

CUDART_EXPORT const char *cudaGetErrorString(cudaError_t error)
{
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (errors[i].error == error)
			return errors[i].text;
	return "unrecognized error code";
}

CUDART_EXPORT const char *cudaGetErrorName(cudaError_t error)
{
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (errors[i].error == error)
			return errors[i].name;
	return "unrecognized error code";
}

CUDART_EXPORT cudaError_t cudaStreamCreate(cudaStream_t *stream)
{
	struct {
		cudaStream_t *stream;
	} params = {stream};
	RUNTIME_CALL("cudaStreamCreate", FAKE_RT_cudaStreamCreate,
		     driver->stream_create(stream, 0));
}

CUDART_EXPORT cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned int flags)
{
	struct {
		cudaStream_t *stream;
		unsigned int flags;
	} params = {stream, flags};
	RUNTIME_CALL("cudaStreamCreateWithFlags", FAKE_RT_cudaStreamCreateWithFlags,
		     driver->stream_create(stream, flags));
}

CUDART_EXPORT cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
	struct {
		cudaStream_t stream;
	} params = {stream};
	RUNTIME_CALL("cudaStreamDestroy", FAKE_RT_cudaStreamDestroy,
		     driver->stream_destroy(stream));
}

CUDART_EXPORT cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
	struct {
		cudaStream_t stream;
	} params = {stream};
	RUNTIME_CALL("cudaStreamSynchronize", FAKE_RT_cudaStreamSynchronize,
		     driver->stream_synchronize(stream));
}

static bool event_valid(const struct fake_cuda_event *event)
{
	return event && event->magic == EVENT_MAGIC;
}

static cudaError_t event_new(cudaEvent_t *event)
{
	if (!event)
		return cudaErrorInvalidValue;
	*event = calloc(1, sizeof(**event));
	if (!*event)
		return cudaErrorMemoryAllocation;
	(*event)->magic = EVENT_MAGIC;
	return cudaSuccess;
}

CUDART_EXPORT cudaError_t cudaEventCreate(cudaEvent_t *event)
{
	struct {
		cudaEvent_t *event;
	} params = {event};
	RUNTIME_CALL("cudaEventCreate", FAKE_RT_cudaEventCreate, event_new(event));
}

static cudaError_t event_free(cudaEvent_t event)
{
	if (!event_valid(event))
		return cudaErrorInvalidResourceHandle;
	event->magic = 0;
	free(event);
	return cudaSuccess;
}

CUDART_EXPORT cudaError_t cudaEventDestroy(cudaEvent_t event)
{
	struct {
		cudaEvent_t event;
	} params = {event};
	RUNTIME_CALL("cudaEventDestroy", FAKE_RT_cudaEventDestroy, event_free(event));
}

static cudaError_t event_record(const struct fake_cuda_driver *driver, cudaEvent_t event,
				cudaStream_t stream)
{
	cudaError_t err;

	if (!event_valid(event))
		return cudaErrorInvalidResourceHandle;
	err = driver->stream_end(stream, &event->time);
	event->recorded = !err;
	return err;
}

CUDART_EXPORT cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
	struct {
		cudaEvent_t event;
		cudaStream_t stream;
	} params = {event, stream};
	RUNTIME_CALL("cudaEventRecord", FAKE_RT_cudaEventRecord,
		     IN_DRIVER(cuEventRecord, event_record(driver, event, stream)));
}

static cudaError_t event_wait(const struct fake_cuda_driver *driver, cudaEvent_t event)
{
	if (!event_valid(event))
		return cudaErrorInvalidResourceHandle;
	if (event->recorded && event->time > driver->now())
		driver->sleep_until(event->time);
	return cudaSuccess;
}

CUDART_EXPORT cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
	struct {
		cudaEvent_t event;
	} params = {event};
	RUNTIME_CALL("cudaEventSynchronize", FAKE_RT_cudaEventSynchronize,
		     IN_DRIVER(cuEventSynchronize, event_wait(driver, event)));
}

static cudaError_t stream_wait(const struct fake_cuda_driver *driver, cudaStream_t stream,
			       cudaEvent_t event, unsigned int flags)
{
	if (!event_valid(event))
		return cudaErrorInvalidResourceHandle;
	if (flags)
		return cudaErrorInvalidValue;
	return event->recorded ? driver->stream_wait_until(stream, event->time) : cudaSuccess;
}

CUDART_EXPORT cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event,
					      unsigned int flags)
{
	struct {
		cudaStream_t stream;
		cudaEvent_t event;
		unsigned int flags;
	} params = {stream, event, flags};
	RUNTIME_CALL("cudaStreamWaitEvent", FAKE_RT_cudaStreamWaitEvent,
		     IN_DRIVER(cuStreamWaitEvent, stream_wait(driver, stream, event, flags)));
}

static cudaError_t event_elapsed(const struct fake_cuda_driver *driver, float *ms,
				 cudaEvent_t start, cudaEvent_t end)
{
	uint64_t now = driver->now();

	if (!ms)
		return cudaErrorInvalidValue;
	if (!event_valid(start) || !event_valid(end) || !start->recorded || !end->recorded)
		return cudaErrorInvalidResourceHandle;
	if (start->time > now || end->time > now)
		return cudaErrorNotReady;
	*ms = (float)((double)(int64_t)(end->time - start->time) / 1e6);
	return cudaSuccess;
}

CUDART_EXPORT cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end)
{
	struct {
		float *ms;
		cudaEvent_t start, end;
	} params = {ms, start, end};
	RUNTIME_CALL("cudaEventElapsedTime", FAKE_RT_cudaEventElapsedTime,
		     event_elapsed(driver, ms, start, end));
}
