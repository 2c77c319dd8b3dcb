/* SPDX-License-Identifier: MIT */
/*
 * Handles CUPTI's callbacks about resources of the program: contexts and modules come and go,
 * graphs and their nodes are made. Each needs a reaction at once.
 *
 * The work of a graph's node is attributed to the stack that makes the node. CUDA makes nodes
 * itself when it instantiates or clones a graph: those are copies. graph_bodies.h follows
 * conditional nodes.
 */
#ifndef CUPTI_TRACE_MAIN_RESOURCES_H
#define CUPTI_TRACE_MAIN_RESOURCES_H

#include "cupti_trace/core/tracer.h"

/* Enables these callbacks, or disables them (0). Call while subscribed. */
void resources_enable(struct tracer *tracer, uint32_t enable);

/* Handles all but CUPTI_ABI_RESOURCE_GRAPHNODE_CREATED. Any thread, after guest_enter. */
void resources_on_callback(struct tracer *tracer, uint32_t cbid,
			   const struct cupti_abi_resource_data *data);

/*
 * Sends that a node was made, with its stack. `function` is the name of the API function, "" if
 * there is none; `frame` is the callback's (launch_stack_capture).
 */
void resources_node_created(struct tracer *tracer, const struct cupti_abi_graph_data *data,
			    const char *function, const void *frame);

/*
 * Sends which graph is launched, if there are conditional nodes. CUPTI has the graph of a body's
 * work, but not the launch that it belongs to.
 */
void resources_graph_launched(struct tracer *tracer, const struct cupti_abi_callback_data *data);

/* Sets up existing contexts: some may have been made before. */
void resources_expect_contexts(struct tracer *tracer);

#endif
