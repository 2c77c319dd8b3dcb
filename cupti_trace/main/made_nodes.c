// SPDX-License-Identifier: MIT
#include "cupti_trace/main/made_nodes.h"

#include <string.h>
#include "cupti_trace/core/clock.h"
#include "cupti_trace/core/guest.h"
#include "cupti_trace/launch/graph_bodies.h"
#include "cupti_trace/launch/launch_log.h"
#include "cupti_trace/launch/launch_stack.h"

#define CUPTI_RECORDS_BODIES 26 /* CUDA 12.8 */

void made_nodes_starts(struct tracer *tracer, const struct cupti_abi_graph_data *data)
{
	bool has_had = atomic_load(&tracer->has_conditionals);

	graph_bodies_node_starts(tracer, data);
	/* what CUPTI cannot tell of conditional nodes is said once */
	if (has_had || !atomic_load(&tracer->has_conditionals) ||
	    tracer->api.version >= CUPTI_RECORDS_BODIES)
		return;
	tracer_notice(
		tracer, GPU_NOTICE_NOT_RECORDED,
		"kernels within conditional nodes of graphs: CUPTI API version %u (%s) leaves "
		"out most of them, that of CUDA 12.8 and later has them",
		tracer->api.version, tracer->api.path);
}

void made_nodes_created(struct tracer *tracer, const struct cupti_abi_graph_data *data,
			const char *function, const void *frame)
{
	struct gpu_event event = {.type = GPU_EVENT_NODE};

	if (!made_nodes_are_followed(tracer) || !data ||
	    tracer->api.cuptiGetGraphNodeId(data->node, &event.node.id) != 0)
		return;
	event.node.time_ns = clock_now_ns();
	event.node.tid = launch_log_tid();
	event.node.stack_id =
		launch_stack_capture(launch_stack_thread(), &tracer->sink, function, frame, 0);
	sink_put(&tracer->sink, &event);
	graph_bodies_node_created(tracer, data, event.node.id);
}

void made_nodes_cloned(struct tracer *tracer, const struct cupti_abi_graph_data *data)
{
	struct gpu_event event = {.type = GPU_EVENT_NODE};

	if (!data || tracer->api.cuptiGetGraphNodeId(data->node, &event.node.id) != 0 ||
	    tracer->api.cuptiGetGraphNodeId(data->original_node, &event.node.origin) != 0)
		return;
	event.node.tid = launch_log_tid();
	sink_put(&tracer->sink, &event);
	graph_bodies_node_cloned(data, event.node.id);
}

void made_nodes_launched(struct tracer *tracer, const struct cupti_abi_callback_data *data)
{
	struct gpu_event event = {
		.type = GPU_EVENT_GRAPH,
		.graph = {.correlation_id = data->correlation_id, .time_ns = clock_now_ns()}};
	struct guest guest;
	void *exec = NULL;

	if (!made_nodes_are_followed(tracer) || !tracer->api.cuptiGetGraphExecId ||
	    !data->function_params)
		return;
	memcpy(&exec, data->function_params, sizeof(exec));
	if (!exec ||
	    tracer->api.cuptiGetGraphExecId(exec, &event.graph.number) != CUPTI_ABI_SUCCESS)
		return;
	guest_enter(&guest);
	sink_put(&tracer->sink, &event);
	guest_leave(&guest);
}
