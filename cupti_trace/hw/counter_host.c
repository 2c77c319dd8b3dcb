// SPDX-License-Identifier: MIT
#include "cupti_trace/hw/counter_host.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include "cupti_trace/core/cupti_abi.h"
#include "cupti_trace/hw/metric_list.h"

const char *const counter_host_default[] = {METRIC_LIST_DEFAULT, NULL};

bool profiler_api_resolve(struct profiler_api *api, void *handle, bool target)
{
	bool is_whole = true;

#define X(name, parameter, is_target)                \
	*(void **)&api->name = dlsym(handle, #name); \
	is_whole &= api->name || (is_target && !target);
	PROFILER_ABI_FUNCTIONS(X)
#undef X
	*(void **)&api->cuptiGetDeviceId = dlsym(handle, "cuptiGetDeviceId");
	return is_whole && (api->cuptiGetDeviceId || !target);
}

int counter_host_open(struct counter_host *host, const struct profiler_api *api, const char *chip,
		      const uint8_t *availability)
{
	struct profiler_abi_host params = {.size = PROFILER_ABI_HOST_SIZE,
					   .profiler_type = PROFILER_ABI_RANGE_PROFILER,
					   .chip = chip,
					   .availability = availability};
	int result = api->cuptiProfilerHostInitialize(&params);

	memset(host, 0, sizeof(*host));
	host->api = api;
	if (result == CUPTI_ABI_SUCCESS)
		host->host = params.host;
	return result;
}

void counter_host_close(struct counter_host *host)
{
	if (host->host)
		host->api->cuptiProfilerHostDeinitialize(&(struct profiler_abi_host_end){
			.size = PROFILER_ABI_HOST_END_SIZE, .host = host->host});
	free(host->config);
	memset(host, 0, sizeof(*host));
}

int counter_host_add(struct counter_host *host, const char *metric)
{
	struct profiler_abi_add_metrics params = {.size = PROFILER_ABI_ADD_METRICS_SIZE,
						  .host = host->host,
						  .names = &metric,
						  .count = 1};
	int result;

	if (host->count == GPU_METRICS_MAX)
		return CUPTI_ABI_ERROR_MAX_LIMIT_REACHED;
	for (uint32_t i = 0; i < host->count; i++)
		if (strcmp(host->names[i], metric) == 0)
			return CUPTI_ABI_SUCCESS;
	result = host->api->cuptiProfilerHostConfigAddMetrics(&params);
	if (result == CUPTI_ABI_SUCCESS)
		host->names[host->count++] = metric;
	return result;
}

int counter_host_configure(struct counter_host *host)
{
	const struct profiler_api *api = host->api;
	struct profiler_abi_config_size size = {.size = PROFILER_ABI_CONFIG_SIZE_SIZE,
						.host = host->host};
	struct profiler_abi_config config = {.size = PROFILER_ABI_CONFIG_SIZE, .host = host->host};
	struct profiler_abi_passes passes = {.size = PROFILER_ABI_PASSES_SIZE};
	int result = api->cuptiProfilerHostGetConfigImageSize(&size);

	if (result != CUPTI_ABI_SUCCESS)
		return result;
	free(host->config);
	host->config_size = size.image_size;
	host->config = malloc(size.image_size ? size.image_size : 1);
	if (!host->config)
		return -1;
	config.image = passes.image = host->config;
	config.image_size = passes.image_size = host->config_size;
	result = api->cuptiProfilerHostGetConfigImage(&config);
	if (result == CUPTI_ABI_SUCCESS)
		result = api->cuptiProfilerHostGetNumOfPasses(&passes);
	host->passes = passes.count;
	return result;
}

int counter_host_describe(const struct counter_host *host, const char *metric,
			  struct counter_properties *properties)
{
	struct profiler_abi_properties params = {
		.size = PROFILER_ABI_PROPERTIES_SIZE, .host = host->host, .metric = metric};
	int result = host->api->cuptiProfilerHostGetMetricProperties(&params);

	*properties = (struct counter_properties){"", ""};
	if (result != CUPTI_ABI_SUCCESS)
		return result;
	if (params.description)
		properties->description = params.description;
	if (params.unit)
		properties->unit = params.unit;
	return result;
}

static bool has_base(const struct counter_host *host, int type, const char *base)
{
	struct profiler_abi_base_metrics p = {
		.size = PROFILER_ABI_BASE_METRICS_SIZE, .host = host->host, .type = type};

	if (host->api->cuptiProfilerHostGetBaseMetrics(&p) != CUPTI_ABI_SUCCESS)
		return false;
	for (size_t i = 0; i < p.count; i++)
		if (strcmp(p.names[i], base) == 0)
			return true;
	return false;
}

static bool is_short(const char *ending)
{
	return strrchr(ending, '.') == ending;
}

/* Lists as many as there is room for. */
static void list_endings(const struct profiler_abi_sub_metrics *p, char text[COUNTER_ENDINGS_BYTES])
{
	bool has_short = false;
	size_t used = 0;

	for (size_t i = 0; i < p->count; i++)
		has_short |= is_short(p->names[i]);
	for (size_t i = 0; i < p->count; i++) {
		size_t length = strlen(p->names[i]), before = used ? strlen(", ") : 0;

		if ((has_short && !is_short(p->names[i])) ||
		    used + before + length >= COUNTER_ENDINGS_BYTES)
			continue;
		memcpy(text + used, ", ", before);
		memcpy(text + used + before, p->names[i], length + 1);
		used += before + length;
	}
}

bool counter_host_endings(const struct counter_host *host, const char *metric,
			  char text[COUNTER_ENDINGS_BYTES])
{
	char base[COUNTER_ENDINGS_BYTES];
	struct profiler_abi_sub_metrics p = {
		.size = PROFILER_ABI_SUB_METRICS_SIZE, .host = host->host, .metric = base};
	size_t length = strcspn(metric, ".");

	text[0] = '\0';
	if (length >= sizeof(base))
		return false;
	memcpy(base, metric, length);
	base[length] = '\0';
	for (p.type = 0; p.type < PROFILER_ABI_METRIC_TYPES; p.type++) {
		if (!has_base(host, p.type, base))
			continue;
		if (host->api->cuptiProfilerHostGetSubMetrics(&p) == CUPTI_ABI_SUCCESS)
			list_endings(&p, text);
		break;
	}
	return text[0] != '\0';
}

int counter_host_evaluate(struct counter_host *host, const uint8_t *data, size_t size, size_t range,
			  double *values)
{
	return host->api->cuptiProfilerHostEvaluateToGpuValues(
		&(struct profiler_abi_evaluate){.size = PROFILER_ABI_EVALUATE_SIZE,
						.host = host->host,
						.image = data,
						.image_size = size,
						.range = range,
						.names = host->names,
						.count = host->count,
						.values = values});
}
