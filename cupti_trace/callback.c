// SPDX-License-Identifier: MIT
#include "cupti_trace/callback.h"

#include <time.h>
#include "cupti_trace/launch_log.h"

struct entry_point {
	uint32_t domain;
	uint32_t cbid;
};

#define RT CUPTI_ABI_DOMAIN_RUNTIME_API
#define DRV CUPTI_ABI_DOMAIN_DRIVER_API

static const struct entry_point launches[] = {
	{RT, CUPTI_ABI_RT_cudaLaunchKernel},
	{RT, CUPTI_ABI_RT_cudaLaunchKernel_ptsz},
	{RT, CUPTI_ABI_RT_cudaLaunchKernelExC},
	{RT, CUPTI_ABI_RT_cudaLaunchKernelExC_ptsz},
	{RT, CUPTI_ABI_RT_cudaLaunchCooperativeKernel},
	{RT, CUPTI_ABI_RT_cudaLaunchCooperativeKernel_ptsz},
	{RT, CUPTI_ABI_RT_cudaLaunchCooperativeKernelMultiDevice},
	{RT, CUPTI_ABI_RT_cudaGraphLaunch},
	{RT, CUPTI_ABI_RT_cudaGraphLaunch_ptsz},
	{DRV, CUPTI_ABI_DRV_cuLaunch},
	{DRV, CUPTI_ABI_DRV_cuLaunchGrid},
	{DRV, CUPTI_ABI_DRV_cuLaunchGridAsync},
	{DRV, CUPTI_ABI_DRV_cuLaunchKernel},
	{DRV, CUPTI_ABI_DRV_cuLaunchKernel_ptsz},
	{DRV, CUPTI_ABI_DRV_cuLaunchKernelEx},
	{DRV, CUPTI_ABI_DRV_cuLaunchKernelEx_ptsz},
	{DRV, CUPTI_ABI_DRV_cuLaunchCooperativeKernel},
	{DRV, CUPTI_ABI_DRV_cuLaunchCooperativeKernel_ptsz},
	{DRV, CUPTI_ABI_DRV_cuLaunchCooperativeKernelMultiDevice},
	{DRV, CUPTI_ABI_DRV_cuGraphLaunch},
	{DRV, CUPTI_ABI_DRV_cuGraphLaunch_ptsz},
};
#define LAUNCHES (sizeof(launches) / sizeof(launches[0]))

static bool is_graph_launch(uint32_t domain, uint32_t cbid)
{
	if (domain == RT)
		return cbid == CUPTI_ABI_RT_cudaGraphLaunch ||
		       cbid == CUPTI_ABI_RT_cudaGraphLaunch_ptsz ||
		       cbid == CUPTI_ABI_RT_cudaLaunchCooperativeKernelMultiDevice;
	return cbid == CUPTI_ABI_DRV_cuGraphLaunch || cbid == CUPTI_ABI_DRV_cuGraphLaunch_ptsz ||
	       cbid == CUPTI_ABI_DRV_cuLaunchCooperativeKernelMultiDevice;
}

/*
 * When buffers run short the profiler is behind: let the launching thread wait a little, here,
 * where no lock of CUPTI is held, instead of losing records.
 */
static void wait_for_buffers(struct tracer *tracer)
{
	const struct timespec pause = {0, 1000000};

	for (int i = 0;
	     i < 100 && buffers_are_short(&tracer->buffers) && !sink_is_stalled(&tracer->sink); i++)
		nanosleep(&pause, NULL);
}

static void on_launch(struct tracer *tracer, uint32_t domain, uint32_t cbid,
		      const struct cupti_abi_callback_data *data)
{
	uint32_t last;
	bool seen;

	if (data->callback_site != CUPTI_ABI_API_ENTER)
		return;
	last = launch_log_last_correlation(&seen);
	/* a runtime launch calls the driver's, with the same id: that is one launch, the outer */
	if (domain == DRV && seen && last == data->correlation_id)
		return;
	if (buffers_are_short(&tracer->buffers))
		wait_for_buffers(tracer);
	launch_log_add(&tracer->sink, data->correlation_id,
		       domain == RT ? GPU_LAUNCH_RUNTIME : GPU_LAUNCH_DRIVER,
		       is_graph_launch(domain, cbid) ? GPU_LAUNCH_IS_GRAPH : 0);
}

/* New device code was loaded, perhaps by a library that brought its own copy of the runtime. */
static void on_module_loaded(struct tracer *tracer)
{
	uint64_t now = tracer_count_mapped();
	struct gpu_event event = {
		.type = GPU_EVENT_MAPS,
		.maps = {.generation = now, .wants_ack = 1},
	};

	if (atomic_exchange(&tracer->code_generation, now) != now)
		tracer_ask(tracer, &event);
}

static void on_callback(void *userdata, uint32_t domain, uint32_t cbid, const void *cbdata)
{
	struct tracer *tracer = userdata;

	if (!atomic_load_explicit(&tracer->on, memory_order_relaxed))
		return;
	if (domain == CUPTI_ABI_DOMAIN_RESOURCE) {
		if (cbid == CUPTI_ABI_RESOURCE_MODULE_LOADED)
			on_module_loaded(tracer);
		else if (cbid == CUPTI_ABI_RESOURCE_CONTEXT_DESTROY_STARTING)
			tracer_flush(tracer, false);
		return;
	}
	if (domain == RT && cbid == CUPTI_ABI_RT_cudaDeviceReset) {
		const struct cupti_abi_callback_data *data = cbdata;

		if (data->callback_site == CUPTI_ABI_API_ENTER)
			tracer_flush(tracer, false);
		return;
	}
	on_launch(tracer, domain, cbid, cbdata);
}

static void enable_all(struct tracer *tracer, uint32_t enable)
{
	const struct cupti_api *api = &tracer->api;
	cupti_abi_subscriber subscriber = tracer->subscriber;

	/* functions that a CUPTI does not know are refused one by one; nothing else depends on it
	 */
	for (size_t i = 0; i < LAUNCHES; i++)
		api->cuptiEnableCallback(enable, subscriber, launches[i].domain, launches[i].cbid);
	api->cuptiEnableCallback(enable, subscriber, RT, CUPTI_ABI_RT_cudaDeviceReset);
	api->cuptiEnableCallback(enable, subscriber, CUPTI_ABI_DOMAIN_RESOURCE,
				 CUPTI_ABI_RESOURCE_MODULE_LOADED);
	api->cuptiEnableCallback(enable, subscriber, CUPTI_ABI_DOMAIN_RESOURCE,
				 CUPTI_ABI_RESOURCE_CONTEXT_DESTROY_STARTING);
}

int callback_subscribe(struct tracer *tracer)
{
	int result = tracer->api.cuptiSubscribe(&tracer->subscriber, on_callback, tracer);

	if (result != CUPTI_ABI_SUCCESS)
		return result;
	tracer->subscribed = true;
	enable_all(tracer, 1);
	return CUPTI_ABI_SUCCESS;
}

void callback_unsubscribe(struct tracer *tracer)
{
	if (!tracer->subscribed)
		return;
	enable_all(tracer, 0);
	tracer->api.cuptiUnsubscribe(tracer->subscriber);
	tracer->subscribed = false;
}
