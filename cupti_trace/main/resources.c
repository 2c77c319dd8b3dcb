// SPDX-License-Identifier: MIT
#include "cupti_trace/main/resources.h"

#include <string.h>
#include "cupti_trace/core/clock.h"
#include "cupti_trace/core/guest.h"
#include "cupti_trace/core/loader_count.h"
#include "cupti_trace/hw/hw_counters.h"
#include "cupti_trace/hw/pc_sampling.h"
#include "cupti_trace/launch/graph_bodies.h"
#include "cupti_trace/launch/launch_log.h"
#include "cupti_trace/launch/launch_stack.h"
#include "cupti_trace/launch/wait_log.h"
#include "cupti_trace/memory/graph_memory.h"

/* ---- graphs ---- */

static bool follows_nodes(const struct tracer *tracer)
{
	return tracer->api.cuptiGetGraphNodeId && !tracer->config.whole_graphs;
}

#define CUPTI_RECORDS_BODIES 26 /* CUDA 12.8 */

static void on_node_starts(struct tracer *tracer, const struct cupti_abi_graph_data *data)
{
	bool has_had = atomic_load(&tracer->has_conditionals);

	graph_bodies_node_starts(tracer, data);
	/* one notice about unrecorded bodies of conditional nodes */
	if (has_had || !atomic_load(&tracer->has_conditionals) ||
	    tracer->api.version >= CUPTI_RECORDS_BODIES)
		return;
	tracer_notice(tracer, GPU_NOTICE_NOT_RECORDED,
		      "kernels within conditional nodes of graphs: CUPTI API version %u (%s) omits "
		      "most of them; CUDA 12.8 or later records them",
		      tracer->api.version, tracer->api.path);
}

void resources_node_created(struct tracer *tracer, const struct cupti_abi_graph_data *data,
			    const char *function, const void *frame)
{
	struct gpu_event event = {.type = GPU_EVENT_NODE};

	if (!follows_nodes(tracer) || !data ||
	    tracer->api.cuptiGetGraphNodeId(data->node, &event.node.id) != 0)
		return;
	event.node.time_ns = clock_now_ns();
	event.node.tid = launch_log_tid();
	event.node.stack_id =
		launch_stack_capture(launch_stack_thread(), &tracer->sink, function, frame, 0);
	sink_put(&tracer->sink, &event);
	graph_bodies_node_created(tracer, data, event.node.id);
}

static void on_node_cloned(struct tracer *tracer, const struct cupti_abi_graph_data *data)
{
	struct gpu_event event = {.type = GPU_EVENT_NODE};

	if (!data || tracer->api.cuptiGetGraphNodeId(data->node, &event.node.id) != 0 ||
	    tracer->api.cuptiGetGraphNodeId(data->original_node, &event.node.origin) != 0)
		return;
	event.node.tid = launch_log_tid();
	sink_put(&tracer->sink, &event);
	graph_bodies_node_cloned(data, event.node.id);
}

void resources_graph_launched(struct tracer *tracer, const struct cupti_abi_callback_data *data)
{
	struct gpu_event event = {
		.type = GPU_EVENT_GRAPH,
		.graph = {.correlation_id = data->correlation_id, .time_ns = clock_now_ns()}};
	struct guest guest;
	void *exec = NULL;

	if (!follows_nodes(tracer) || !tracer->api.cuptiGetGraphExecId || !data->function_params)
		return;
	memcpy(&exec, data->function_params, sizeof(exec));
	if (!exec ||
	    tracer->api.cuptiGetGraphExecId(exec, &event.graph.number) != CUPTI_ABI_SUCCESS)
		return;
	guest_enter(&guest);
	sink_put(&tracer->sink, &event);
	guest_leave(&guest);
}

/* ---- unified memory ---- */

#define MOST_DEVICES 64

/* Has CUPTI watch unified memory on all devices, once there is a context. */
static void watch_unified_memory(struct tracer *tracer)
{
	static const uint32_t kinds[] = {CUPTI_ABI_UVM_BYTES_HTOD, CUPTI_ABI_UVM_BYTES_DTOH,
					 CUPTI_ABI_UVM_BYTES_DTOD, CUPTI_ABI_UVM_GPU_PAGE_FAULTS,
					 CUPTI_ABI_UVM_CPU_PAGE_FAULTS};
	const struct cupti_api *api = &tracer->api;
	bool any = false;

	if (!tracer->config.unified_memory || !api->cuptiActivityConfigureUnifiedMemoryCounter ||
	    atomic_exchange(&tracer->watches_uvm, true))
		return;
	for (uint32_t device = 0; device < MOST_DEVICES; device++) {
		int result = CUPTI_ABI_SUCCESS;

		for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
			struct cupti_abi_uvm_config config = {
				.scope = CUPTI_ABI_UVM_SCOPE_PROCESS_SINGLE_DEVICE,
				.kind = kinds[i],
				.device_id = device,
				.enable = 1,
			};

			result = api->cuptiActivityConfigureUnifiedMemoryCounter(&config, 1);
			if (result == CUPTI_ABI_SUCCESS)
				any = true;
			else if (i == 0)
				break; /* no such device, or it does not support this */
		}
		if (result != CUPTI_ABI_SUCCESS && !any)
			break;
		if (result == CUPTI_ABI_ERROR_INVALID_DEVICE)
			break;
	}
	if (any)
		api->cuptiActivityEnable(CUPTI_ABI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER);
}

void resources_expect_contexts(struct tracer *tracer)
{
	watch_unified_memory(tracer);
	tracer_moves(&tracer->devices, DEVICES_WANTED, DEVICES_DUE);
}

/*
 * Asks the profiler to search new code, if probes take the stacks. New device code may belong to a
 * library with its own copy of the runtime. Its launch functions get probes before they are called.
 */
static void on_module_loaded(struct tracer *tracer)
{
	uint64_t now;
	struct gpu_event event = {.type = GPU_EVENT_MAPS, .maps = {.wants_ack = 1}};

	if (tracer->config.stacks)
		return;
	now = loader_count_read().loaded;
	event.maps.generation = now;
	if (atomic_exchange(&tracer->code_generation, now) != now)
		tracer_ask(tracer, &event);
}

/*
 * Reports device code that launches kernels itself: it has NVIDIA's device runtime linked in. CUPTI
 * does not record those kernels (seen with 13.0 on an H100; it refuses
 * CUPTI_ACTIVITY_KIND_CDP_KERNEL there), and a kernel that launches others ends before they do.
 */
static void look_for_device_launches(struct tracer *tracer,
				     const struct cupti_abi_module_data *data)
{
	static const char mark[] = "__cudaCDP2LaunchDevice";

	if (!data || !data->cubin || atomic_load(&tracer->reported_device_launch) ||
	    !memmem(data->cubin, data->cubin_size, mark, sizeof(mark) - 1))
		return;
	if (!atomic_exchange(&tracer->reported_device_launch, true))
		tracer_notice(tracer, GPU_NOTICE_DEVICE_LAUNCH, "%s", "");
}

void resources_on_callback(struct tracer *tracer, uint32_t cbid,
			   const struct cupti_abi_resource_data *data)
{
	switch (cbid) {
	case CUPTI_ABI_RESOURCE_MODULE_LOADED:
		look_for_device_launches(tracer, data->descriptor);
		if (tracer->config.stall_period)
			pc_sampling_module_loaded(tracer, data->descriptor);
		on_module_loaded(tracer);
		break;
	case CUPTI_ABI_RESOURCE_MODULE_UNLOAD_STARTING:
		launch_stack_expect_unload();
		if (tracer->config.stall_period)
			pc_sampling_module_goes(tracer);
		pthread_mutex_lock(&tracer->record_lock);
		names_module_unloads(&tracer->names);
		pthread_mutex_unlock(&tracer->record_lock);
		break;
	case CUPTI_ABI_RESOURCE_CONTEXT_CREATED:
		tracer_moves(&tracer->devices, DEVICES_WANTED, DEVICES_DUE);
		watch_unified_memory(tracer);
		if (tracer->config.memory)
			graph_memory_context_begins(tracer, data->context);
		if (tracer->config.stall_period)
			pc_sampling_context_created(tracer, data->context);
		wait_log_context_created();
		break;
	case CUPTI_ABI_RESOURCE_CONTEXT_DESTROY_STARTING:
		if (tracer->config.memory) {
			tracer_send_context_end(tracer, data->context);
			graph_memory_context_ends(data->context);
		}
		if (tracer->config.stall_period)
			pc_sampling_context_ends(tracer, data->context);
		if (tracer_reads_counters(tracer))
			counters_context_ends(data->context);
		tracer_flush(tracer, false);
		break;
	case CUPTI_ABI_RESOURCE_GRAPH_CREATED:
		graph_bodies_graph_created(tracer, data->descriptor);
		break;
	case CUPTI_ABI_RESOURCE_GRAPHNODE_CREATE_STARTING:
		on_node_starts(tracer, data->descriptor);
		break;
	case CUPTI_ABI_RESOURCE_GRAPHEXEC_CREATED:
		graph_bodies_exec_created(tracer);
		break;
	case CUPTI_ABI_RESOURCE_GRAPHNODE_CLONED:
		on_node_cloned(tracer, data->descriptor);
		break;
	default:
		break;
	}
}

/* Returns whether a callback is enabled even without a profiler: names and records need it. */
static bool is_needed_alone(uint32_t resource)
{
	return resource == CUPTI_ABI_RESOURCE_MODULE_UNLOAD_STARTING ||
	       resource == CUPTI_ABI_RESOURCE_CONTEXT_DESTROY_STARTING;
}

void resources_enable(struct tracer *tracer, uint32_t enable)
{
	static const uint32_t resources[] = {
		CUPTI_ABI_RESOURCE_MODULE_LOADED,     CUPTI_ABI_RESOURCE_MODULE_UNLOAD_STARTING,
		CUPTI_ABI_RESOURCE_CONTEXT_CREATED,   CUPTI_ABI_RESOURCE_CONTEXT_DESTROY_STARTING,
		CUPTI_ABI_RESOURCE_GRAPHNODE_CREATED,
	};
	static const uint32_t of_nodes[] = {
		CUPTI_ABI_RESOURCE_GRAPH_CREATED,
		CUPTI_ABI_RESOURCE_GRAPHNODE_CREATE_STARTING,
		CUPTI_ABI_RESOURCE_GRAPHNODE_CLONED,
		CUPTI_ABI_RESOURCE_GRAPHEXEC_CREATED,
	};
	const struct cupti_api *api = &tracer->api;
	cupti_abi_subscriber subscriber = tracer->subscriber;

	for (size_t i = 0; i < sizeof(resources) / sizeof(resources[0]); i++)
		if (!tracer_is_alone(tracer) || is_needed_alone(resources[i]))
			api->cuptiEnableCallback(enable, subscriber, CUPTI_ABI_DOMAIN_RESOURCE,
						 resources[i]);
	if (tracer_is_alone(tracer) || !follows_nodes(tracer))
		return;
	for (size_t i = 0; i < sizeof(of_nodes) / sizeof(of_nodes[0]); i++)
		api->cuptiEnableCallback(enable, subscriber, CUPTI_ABI_DOMAIN_RESOURCE,
					 of_nodes[i]);
}
