// SPDX-License-Identifier: MIT
#include "cupti_trace/main/record_kinds.h"

#include <stdbool.h>
#include <stddef.h>
#include "cupti_trace/launch/probes.h"

#define CUPTI_DECOMPRESSES 26 /* CUDA 12.8: has CUPTI_ABI_ACTIVITY_KIND_MEM_DECOMPRESS */

/* ---- for the profiler ---- */

/* Kinds of records: the first is required, the others are used if this CUPTI has them. */
static const struct record_kind {
	uint32_t kind;
	const char *name;    /* in notices */
	bool is_copy_or_set; /* its launches may have records */
	bool is_of_launches; /* records work of launches: --budget switches it */
	bool is_minor; /* describes subjects of other records, or an engine that most GPUs lack */
} kinds[] = {
	{CUPTI_ABI_ACTIVITY_KIND_CONCURRENT_KERNEL, "kernels", false, true, false},
	{CUPTI_ABI_ACTIVITY_KIND_MEMCPY, "copies", true, true, false},
	{CUPTI_ABI_ACTIVITY_KIND_MEMCPY2, "copies between GPUs", true, true, false},
	{CUPTI_ABI_ACTIVITY_KIND_MEMSET, "memory sets", true, true, false},
	{CUPTI_ABI_ACTIVITY_KIND_MEMORY2, "allocations", false, false, false},
	{CUPTI_ABI_ACTIVITY_KIND_GRAPH_TRACE, "graphs as a whole", false, false, false},
	{CUPTI_ABI_ACTIVITY_KIND_MEM_DECOMPRESS, "CUPTI does not record decompression", false, true,
	 true},
	{CUPTI_ABI_ACTIVITY_KIND_DEVICE, "CUPTI did not name the devices", false, false, true},
	{CUPTI_ABI_ACTIVITY_KIND_CONTEXT, "CUPTI did not report which contexts use MPS", false,
	 false, true},
	{CUPTI_ABI_ACTIVITY_KIND_MEMORY_POOL, "memory pools that are trimmed or destroyed", false,
	 false, false},
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static bool is_wanted(const struct tracer *tracer, uint32_t kind)
{
	if (kind == CUPTI_ABI_ACTIVITY_KIND_DEVICE || kind == CUPTI_ABI_ACTIVITY_KIND_CONTEXT)
		return tracer->config.devices;
	if (kind == CUPTI_ABI_ACTIVITY_KIND_MEMORY_POOL)
		return tracer->config.memory;
	if (kind == CUPTI_ABI_ACTIVITY_KIND_MEMORY2 && tracer->config.budget)
		return false; /* allocations take no time, and can be in any of its parts */
	if (kind == CUPTI_ABI_ACTIVITY_KIND_GRAPH_TRACE)
		return tracer->config.whole_graphs;
	if (kind == CUPTI_ABI_ACTIVITY_KIND_MEM_DECOMPRESS)
		return !tracer->config.kernels_only && tracer->api.version >= CUPTI_DECOMPRESSES;
	return !tracer->config.kernels_only || kind == CUPTI_ABI_ACTIVITY_KIND_CONCURRENT_KERNEL;
}

/* Must be called before any kind is enabled; takes 16 MiB of each context's memory. */
static void enable_device_graphs(struct tracer *tracer)
{
	if (!tracer->config.device_graphs)
		return;
	if (tracer->api.cuptiActivityEnableDeviceGraph)
		tracer_notice_result(tracer, GPU_NOTICE_NOT_RECORDED, "graphs that kernels launch",
				     tracer->api.cuptiActivityEnableDeviceGraph(1));
	else
		tracer_notice(tracer, GPU_NOTICE_NOT_RECORDED,
			      "graphs that kernels launch: %s is older than CUDA 12.3",
			      tracer->api.path);
}

static void enable_others(struct tracer *tracer)
{
	tracer->records_copies = !tracer->config.kernels_only;

	for (const struct record_kind *k = kinds + 1; k < kinds + KINDS; k++) {
		int result = CUPTI_ABI_SUCCESS;

		if (is_wanted(tracer, k->kind))
			result = tracer->api.cuptiActivityEnable(k->kind);
		if (k->kind == CUPTI_ABI_ACTIVITY_KIND_DEVICE)
			atomic_store(&tracer->devices,
				     tracer->config.devices && result == CUPTI_ABI_SUCCESS
					     ? DEVICES_WANTED
					     : DEVICES_SETTLED);
		if (result != CUPTI_ABI_SUCCESS && k->is_copy_or_set)
			tracer->records_copies = false;
		tracer_notice_result(tracer,
				     k->is_minor ? GPU_NOTICE_VERBOSE : GPU_NOTICE_NOT_RECORDED,
				     k->name, result);
	}
}

int record_kinds_enable(struct tracer *tracer)
{
	int result;

	enable_device_graphs(tracer);
	result = tracer->api.cuptiActivityEnable(kinds[0].kind);
	if (result == CUPTI_ABI_SUCCESS)
		enable_others(tracer);
	return result;
}

/* Returns CUPTI's result; 0 for disabling, which cannot fail. */
static int switch_kind(const struct tracer *tracer, uint32_t kind, bool on)
{
	if (on)
		return tracer->api.cuptiActivityEnable(kind);
	tracer->api.cuptiActivityDisable(kind);
	return CUPTI_ABI_SUCCESS;
}

void record_kinds_switch(struct tracer *tracer, bool on)
{
	for (const struct record_kind *k = kinds; k < kinds + KINDS; k++)
		if (k->is_of_launches && is_wanted(tracer, k->kind))
			switch_kind(tracer, k->kind, on);
}

void record_kinds_disable(struct tracer *tracer)
{
	for (size_t i = 0; i < KINDS; i++)
		tracer->api.cuptiActivityDisable(kinds[i].kind);
	if (atomic_load(&tracer->watches_uvm))
		tracer->api.cuptiActivityDisable(CUPTI_ABI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER);
}

/* ---- for tracers ---- */

void record_kinds_serve(struct tracer *tracer, uint32_t probes)
{
	/* by position in `kinds` */
	static const uint32_t probes_of_kinds[] = {PROBE_BIT(kernel_done), PROBE_BIT(memcpy_done),
						   PROBE_BIT(memcpy_done), PROBE_BIT(memset_done)};

	for (size_t i = 0; i < sizeof(probes_of_kinds) / sizeof(probes_of_kinds[0]); i++) {
		if ((probes ^ tracer->probes) & probes_of_kinds[i])
			tracer_notice_result(
				tracer, GPU_NOTICE_NOT_RECORDED, kinds[i].name,
				switch_kind(tracer, kinds[i].kind, probes & probes_of_kinds[i]));
	}
}
