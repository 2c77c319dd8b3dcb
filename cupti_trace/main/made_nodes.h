/* SPDX-License-Identifier: MIT */
/*
 * Nodes of CUDA graphs, as the program makes them: the work of a node is attributed to the stack
 * that makes it. CUDA makes nodes itself where it instantiates or clones a graph: those are copies.
 * Conditional nodes are followed by graph_bodies.h. In callbacks of CUPTI, any thread.
 */
#ifndef CUPTI_TRACE_MAIN_MADE_NODES_H
#define CUPTI_TRACE_MAIN_MADE_NODES_H

#include <stdbool.h>
#include "cupti_trace/core/tracer.h"

static inline bool made_nodes_are_followed(const struct tracer *tracer)
{
	return tracer->api.cuptiGetGraphNodeId && !tracer->config.whole_graphs;
}

/* Notes that the creation of a node starts, which may fail. */
void made_nodes_starts(struct tracer *tracer, const struct cupti_abi_graph_data *data);

/*
 * Sends that a node was made, with its stack: `function` is the name of the API function, "" if
 * there is none, `frame` the callback's (launch_stack_capture).
 */
void made_nodes_created(struct tracer *tracer, const struct cupti_abi_graph_data *data,
			const char *function, const void *frame);

/* Sends that a node is a copy. CUPTI calls for it after the creation of the same node. */
void made_nodes_cloned(struct tracer *tracer, const struct cupti_abi_graph_data *data);

/*
 * Sends which graph is launched, where there are conditional nodes: CUPTI does not say which launch
 * the work of a body belongs to, only in which graph it is.
 */
void made_nodes_launched(struct tracer *tracer, const struct cupti_abi_callback_data *data);

#endif
