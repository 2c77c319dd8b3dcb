// SPDX-License-Identifier: MIT
#include "cupti_trace/callback.h"

#include <time.h>
#include "cupti_trace/launch_log.h"
#include "cupti_trace/launch_stack.h"

struct entry_point {
	uint32_t domain;
	uint32_t cbid;
	uint16_t flags; /* GPU_LAUNCH_IS_GRAPH */
	const char *name;
};

#define RT CUPTI_ABI_DOMAIN_RUNTIME_API
#define DRV CUPTI_ABI_DOMAIN_DRIVER_API
#define ONE(domain, function)                                         \
	{                                                             \
		domain, CUPTI_ABI_##domain##_##function, 0, #function \
	}
#define MANY(domain, function)                                                          \
	{                                                                               \
		domain, CUPTI_ABI_##domain##_##function, GPU_LAUNCH_IS_GRAPH, #function \
	}

static const struct entry_point launches[] = {
	ONE(RT, cudaLaunchKernel),
	ONE(RT, cudaLaunchKernel_ptsz),
	ONE(RT, cudaLaunchKernelExC),
	ONE(RT, cudaLaunchKernelExC_ptsz),
	ONE(RT, cudaLaunchCooperativeKernel),
	ONE(RT, cudaLaunchCooperativeKernel_ptsz),
	MANY(RT, cudaLaunchCooperativeKernelMultiDevice),
	MANY(RT, cudaGraphLaunch),
	MANY(RT, cudaGraphLaunch_ptsz),
	ONE(DRV, cuLaunch),
	ONE(DRV, cuLaunchGrid),
	ONE(DRV, cuLaunchGridAsync),
	ONE(DRV, cuLaunchKernel),
	ONE(DRV, cuLaunchKernel_ptsz),
	ONE(DRV, cuLaunchKernelEx),
	ONE(DRV, cuLaunchKernelEx_ptsz),
	ONE(DRV, cuLaunchCooperativeKernel),
	ONE(DRV, cuLaunchCooperativeKernel_ptsz),
	MANY(DRV, cuLaunchCooperativeKernelMultiDevice),
	MANY(DRV, cuGraphLaunch),
	MANY(DRV, cuGraphLaunch_ptsz),
};
#define LAUNCHES (sizeof(launches) / sizeof(launches[0]))

/* cbid -> index in `launches` + 1, for each domain: what a launch looks up. */
#define CBIDS 1024
static uint8_t entry_of[2][CBIDS];

static void index_launches(void)
{
	for (size_t i = 0; i < LAUNCHES; i++)
		entry_of[launches[i].domain == DRV][launches[i].cbid] = (uint8_t)(i + 1);
}

static const struct entry_point *find_entry(uint32_t domain, uint32_t cbid)
{
	uint8_t entry = cbid < CBIDS ? entry_of[domain == DRV][cbid] : 0;

	return entry ? &launches[entry - 1] : NULL;
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

/* The stack's id; how long it took is counted if somebody wants to know. */
static uint32_t capture(struct tracer *tracer, const char *function)
{
	uint64_t start = tracer->verbose ? clock_now_ns() : 0;
	uint32_t id = launch_stack_capture(&tracer->sink, function);

	if (tracer->verbose) {
		atomic_fetch_add(&tracer->captures, 1);
		atomic_fetch_add(&tracer->capture_ns, clock_now_ns() - start);
	}
	return id;
}

static void on_launch(struct tracer *tracer, uint32_t domain, uint32_t cbid,
		      const struct cupti_abi_callback_data *data)
{
	const struct entry_point *entry = find_entry(domain, cbid);
	uint32_t last, stack = 0;
	bool seen;

	if (data->callback_site != CUPTI_ABI_API_ENTER || !entry)
		return;
	last = launch_log_last_correlation(&seen);
	/* a runtime launch calls the driver's, with the same id: that is one launch, the outer */
	if (domain == DRV && seen && last == data->correlation_id)
		return;
	if (buffers_are_short(&tracer->buffers))
		wait_for_buffers(tracer);
	if (tracer->captures_stacks)
		stack = capture(tracer, entry->name);
	launch_log_add(&tracer->sink,
		       &(struct gpu_event_launch){
			       .correlation_id = data->correlation_id,
			       .family = domain == RT ? GPU_LAUNCH_RUNTIME : GPU_LAUNCH_DRIVER,
			       .flags = entry->flags,
			       .stack_id = stack,
		       });
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
	index_launches();
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
