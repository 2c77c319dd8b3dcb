/* SPDX-License-Identifier: MIT */
/*
 * What CUPTI tells of the program's resources: contexts and modules come and go, graphs and their
 * nodes are made. Each needs a reaction at once.
 *
 * The work of a graph's node is attributed to the stack that makes the node. CUDA makes nodes
 * itself where it instantiates or clones a graph: those are copies. Conditional nodes are followed
 * by graph_bodies.h.
 */
#ifndef CUPTI_TRACE_MAIN_RESOURCES_H
#define CUPTI_TRACE_MAIN_RESOURCES_H

#include "cupti_trace/core/tracer.h"

/* Has CUPTI call for them, or no longer (0). While subscribed. */
void resources_enable(struct tracer *tracer, uint32_t enable);

/* Reacts to all but CUPTI_ABI_RESOURCE_GRAPHNODE_CREATED. Any thread, after guest_enter. */
void resources_on_callback(struct tracer *tracer, uint32_t cbid,
			   const struct cupti_abi_resource_data *data);

/*
 * Sends that a node was made, with its stack: `function` is the name of the API function, "" if
 * there is none, `frame` the callback's (launch_stack_capture).
 */
void resources_node_created(struct tracer *tracer, const struct cupti_abi_graph_data *data,
			    const char *function, const void *frame);

/*
 * Sends which graph is launched, where there are conditional nodes: CUPTI does not say which launch
 * the work of a body belongs to, only in which graph it is.
 */
void resources_graph_launched(struct tracer *tracer, const struct cupti_abi_callback_data *data);

/* Does now what is done for each context: there may be some that were made before. */
void resources_expect_contexts(struct tracer *tracer);

#endif
