// SPDX-License-Identifier: MIT
#include "cupti_trace/main/record_kinds.h"

#include <stdbool.h>
#include <stddef.h>
#include "cupti_trace/launch/probes.h"

#define CUPTI_DECOMPRESSES 26 /* CUDA 12.8: has CUPTI_ABI_ACTIVITY_KIND_MEM_DECOMPRESS */

/* ---- for the profiler ---- */

/* Kinds of records: the first is required, the others are used if this CUPTI has them. */
static const uint32_t kinds[] = {
	CUPTI_ABI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ABI_ACTIVITY_KIND_MEMCPY,
	CUPTI_ABI_ACTIVITY_KIND_MEMCPY2,           CUPTI_ABI_ACTIVITY_KIND_MEMSET,
	CUPTI_ABI_ACTIVITY_KIND_MEMORY2,           CUPTI_ABI_ACTIVITY_KIND_GRAPH_TRACE,
	CUPTI_ABI_ACTIVITY_KIND_MEM_DECOMPRESS,    CUPTI_ABI_ACTIVITY_KIND_DEVICE,
	CUPTI_ABI_ACTIVITY_KIND_CONTEXT,           CUPTI_ABI_ACTIVITY_KIND_MEMORY_POOL,
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

/* Returns whether a kind only describes subjects of other records. */
static bool is_description(uint32_t kind)
{
	return kind == CUPTI_ABI_ACTIVITY_KIND_DEVICE || kind == CUPTI_ABI_ACTIVITY_KIND_CONTEXT;
}

static bool is_wanted(const struct tracer *tracer, uint32_t kind)
{
	if (is_description(kind))
		return tracer->config.devices;
	if (kind == CUPTI_ABI_ACTIVITY_KIND_MEMORY_POOL)
		return tracer->config.memory;
	if (kind == CUPTI_ABI_ACTIVITY_KIND_GRAPH_TRACE)
		return tracer->config.whole_graphs;
	if (kind == CUPTI_ABI_ACTIVITY_KIND_MEM_DECOMPRESS)
		return !tracer->config.kernels_only && tracer->api.version >= CUPTI_DECOMPRESSES;
	return !tracer->config.kernels_only || kind == CUPTI_ABI_ACTIVITY_KIND_CONCURRENT_KERNEL;
}

static const char *describe(uint32_t kind)
{
	switch (kind) {
	case CUPTI_ABI_ACTIVITY_KIND_MEMCPY:
		return "copies";
	case CUPTI_ABI_ACTIVITY_KIND_MEMCPY2:
		return "copies between GPUs";
	case CUPTI_ABI_ACTIVITY_KIND_MEMSET:
		return "memory sets";
	case CUPTI_ABI_ACTIVITY_KIND_MEMORY2:
		return "allocations";
	case CUPTI_ABI_ACTIVITY_KIND_MEMORY_POOL:
		return "memory pools that are trimmed or destroyed";
	case CUPTI_ABI_ACTIVITY_KIND_DEVICE:
		return "CUPTI did not name the devices";
	case CUPTI_ABI_ACTIVITY_KIND_CONTEXT:
		return "CUPTI did not report which contexts use MPS";
	case CUPTI_ABI_ACTIVITY_KIND_MEM_DECOMPRESS:
		return "CUPTI does not record decompression";
	default:
		return "graphs as a whole";
	}
}

/*
 * Returns whether a refused kind is worth a notice: not descriptions, or engines that most GPUs
 * lack.
 */
static bool is_missed(uint32_t kind)
{
	return !is_description(kind) && kind != CUPTI_ABI_ACTIVITY_KIND_MEM_DECOMPRESS;
}

/* Must be called before any kind is enabled; takes 16 MiB of each context's memory. */
static void enable_device_graphs(struct tracer *tracer)
{
	const struct cupti_api *api = &tracer->api;
	int result;

	if (!tracer->config.device_graphs)
		return;
	if (!api->cuptiActivityEnableDeviceGraph) {
		tracer_notice(tracer, GPU_NOTICE_NOT_RECORDED,
			      "graphs that kernels launch: %s is older than CUDA 12.3", api->path);
		return;
	}
	result = api->cuptiActivityEnableDeviceGraph(1);
	if (result != CUPTI_ABI_SUCCESS)
		tracer_notice(tracer, GPU_NOTICE_NOT_RECORDED,
			      "graphs that kernels launch: %d (%s)", result,
			      cupti_api_error(api, result));
}

static bool is_copy_or_set(uint32_t kind)
{
	return kind == CUPTI_ABI_ACTIVITY_KIND_MEMCPY || kind == CUPTI_ABI_ACTIVITY_KIND_MEMCPY2 ||
	       kind == CUPTI_ABI_ACTIVITY_KIND_MEMSET;
}

static void enable_others(struct tracer *tracer)
{
	tracer->records_copies = !tracer->config.kernels_only;

	for (size_t i = 1; i < KINDS; i++) {
		int result = CUPTI_ABI_SUCCESS;

		if (is_wanted(tracer, kinds[i]))
			result = tracer->api.cuptiActivityEnable(kinds[i]);
		if (kinds[i] == CUPTI_ABI_ACTIVITY_KIND_DEVICE)
			atomic_store(&tracer->devices,
				     tracer->config.devices && result == CUPTI_ABI_SUCCESS
					     ? DEVICES_WANTED
					     : DEVICES_SETTLED);
		if (result != CUPTI_ABI_SUCCESS && is_copy_or_set(kinds[i]))
			tracer->records_copies = false;
		if (result != CUPTI_ABI_SUCCESS)
			tracer_notice(tracer,
				      is_missed(kinds[i]) ? GPU_NOTICE_NOT_RECORDED
							  : GPU_NOTICE_VERBOSE,
				      "%s: %d (%s)", describe(kinds[i]), result,
				      cupti_api_error(&tracer->api, result));
	}
}

int record_kinds_enable(struct tracer *tracer)
{
	int result;

	enable_device_graphs(tracer);
	result = tracer->api.cuptiActivityEnable(kinds[0]);
	if (result == CUPTI_ABI_SUCCESS)
		enable_others(tracer);
	return result;
}

void record_kinds_disable(struct tracer *tracer)
{
	for (size_t i = 0; i < KINDS; i++)
		tracer->api.cuptiActivityDisable(kinds[i]);
	if (atomic_load(&tracer->watches_uvm))
		tracer->api.cuptiActivityDisable(CUPTI_ABI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER);
}

/* ---- for tracers ---- */

/* Kinds of records for probes. */
static const struct {
	uint32_t kind, probe;
} probed_kinds[] = {
	{CUPTI_ABI_ACTIVITY_KIND_CONCURRENT_KERNEL, PROBE_BIT(kernel_done)},
	{CUPTI_ABI_ACTIVITY_KIND_MEMCPY, PROBE_BIT(memcpy_done)},
	{CUPTI_ABI_ACTIVITY_KIND_MEMCPY2, PROBE_BIT(memcpy_done)},
	{CUPTI_ABI_ACTIVITY_KIND_MEMSET, PROBE_BIT(memset_done)},
};

void record_kinds_serve(struct tracer *tracer, uint32_t probes)
{
	const struct cupti_api *api = &tracer->api;

	for (size_t i = 0; i < sizeof(probed_kinds) / sizeof(probed_kinds[0]); i++) {
		uint32_t kind = probed_kinds[i].kind, probe = probed_kinds[i].probe;
		int result = CUPTI_ABI_SUCCESS;

		if (!((probes ^ tracer->probes) & probe))
			continue;
		if (probes & probe)
			result = api->cuptiActivityEnable(kind);
		else
			api->cuptiActivityDisable(kind);
		if (result != CUPTI_ABI_SUCCESS)
			tracer_notice(tracer, GPU_NOTICE_NOT_RECORDED, "%s: %d (%s)",
				      describe(kind), result, cupti_api_error(api, result));
	}
}
