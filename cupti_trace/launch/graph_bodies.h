/* SPDX-License-Identifier: MIT */
/*
 * Follows conditional nodes of CUDA graphs: the graphs that are their bodies, and the ids of the
 * bodies' nodes when they run. Works while a call adds such a node, or clones or instantiates a
 * graph with one. Sends GPU_EVENT_GRAPH and GPU_EVENT_NODE.
 *
 * Relies on this order, which CUPTI 13.0 has on an H200:
 *
 *  - A node's type is known when its creation starts, and is 0 after its creation.
 *  - Graphs created in between, in this thread, are its bodies. Nodes of bodies are cloned in
 *    between, too. Not every node whose creation starts is reported as created.
 *  - Instantiating a graph moves the nodes of bodies into the executable graph. Their handles stay,
 *    their ids change, and records have the new ids. This has happened when the executable graph is
 *    reported as created.
 *
 * All functions are for one thread's callbacks and may be called in any order. A call that fails
 * half-way leaves nothing behind.
 */
#ifndef CUPTI_TRACE_LAUNCH_GRAPH_BODIES_H
#define CUPTI_TRACE_LAUNCH_GRAPH_BODIES_H

#include <stdint.h>
#include "cupti_trace/core/tracer.h"

/* Called in the resource callbacks of these names. */
void graph_bodies_node_starts(struct tracer *tracer, const struct cupti_abi_graph_data *data);
void graph_bodies_graph_created(struct tracer *tracer, const struct cupti_abi_graph_data *data);
/* The node has this id. It has been sent, but its clone has not. */
void graph_bodies_node_created(struct tracer *tracer, const struct cupti_abi_graph_data *data,
			       uint64_t id);
void graph_bodies_node_cloned(const struct cupti_abi_graph_data *data, uint64_t id);
void graph_bodies_exec_created(struct tracer *tracer);

/* Ends a call that made or cloned nodes: handles may become invalid. */
void graph_bodies_call_ends(void);

#endif
