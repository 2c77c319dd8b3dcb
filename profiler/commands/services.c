// SPDX-License-Identifier: MIT
#include "profiler/commands/services.h"

enum { SERVICE_HTTP, SERVICES };

int services_start(struct helper *helper, const struct options *o, const struct identity *identity)
{
	static helper_service *const services[SERVICES] = {[SERVICE_HTTP] = http_channel_serve};

	if (!o->span_server && o->push_count == 0)
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
