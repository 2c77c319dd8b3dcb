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

/* The creation of a node starts: it may fail. */
void made_nodes_starts(struct tracer *tracer, const struct cupti_abi_graph_data *data);

/*
 * A node was made, by the API function of this name, "" if there is none. `frame` is the callback's
 * (launch_stack_capture).
 */
void made_nodes_created(struct tracer *tracer, const struct cupti_abi_graph_data *data,
			const char *function, const void *frame);

/* It is a copy. Comes after the creation of the same node. */
void made_nodes_cloned(struct tracer *tracer, const struct cupti_abi_graph_data *data);

/*
 * A graph that may have conditional nodes is launched. CUPTI does not say which launch the work of
 * a body belongs to, only in which graph it is.
 */
void made_nodes_launched(struct tracer *tracer, const struct cupti_abi_callback_data *data);

#endif
