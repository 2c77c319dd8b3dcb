// SPDX-License-Identifier: MIT
#include "profiler/commands/services.h"

enum { SERVICE_HTTP, SERVICE_GPU_STATES, SERVICES };

int services_start(struct helper *helper, const struct options *o, const struct identity *identity)
{
	static helper_service *const services[SERVICES] = {
		[SERVICE_HTTP] = http_channel_serve, [SERVICE_GPU_STATES] = gpu_watch_serve};

	if (!o->span_server && o->push_count == 0 && !o->run.measure.traces_gpu)
		return 0;
	return helper_start(helper, identity, services, SERVICES);
}

static int connect_http(const void *context)
{
	return helper_connect(context, SERVICE_HTTP);
}

struct http_connector services_http(const struct helper *helper)
{
	return (struct http_connector){connect_http, helper};
}

static int connect_gpu_states(const void *context)
{
	return helper_connect(context, SERVICE_GPU_STATES);
}

struct gpu_watch_connector services_gpu_states(const struct helper *helper)
{
	return (struct gpu_watch_connector){connect_gpu_states, helper};
}
