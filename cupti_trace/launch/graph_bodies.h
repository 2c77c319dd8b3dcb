/* SPDX-License-Identifier: MIT */
/*
 * Conditional nodes of CUDA graphs: which graphs are their bodies, and what ids the bodies' nodes
 * have when they run. Followed while a call of the program adds such a node, or clones or
 * instantiates a graph that has one; sent as GPU_EVENT_GRAPH and GPU_EVENT_NODE.
 *
 * What it relies on, as CUPTI 13.0 reports it on an H200:
 *
 *	A node's type is known when its creation starts, and is 0 once it has been created.
 *	The graphs that are created in between, in the same thread, are its bodies; nodes of bodies
 *	are cloned in between, too. Not every node whose creation starts is reported as created.
 *	When a graph is instantiated, the nodes of bodies are moved into the executable graph: their
 *	handles stay, their ids change, and records have the new ones. This has happened when the
 *	executable graph is reported as created.
 *
 * All functions are for one thread's callbacks and may be called in any order; a call that fails
 * half-way leaves nothing behind.
 */
#ifndef CUPTI_TRACE_LAUNCH_GRAPH_BODIES_H
#define CUPTI_TRACE_LAUNCH_GRAPH_BODIES_H

#include <stdbool.h>
#include <stdint.h>
#include "cupti_trace/core/tracer.h"

/* In each of the resource callbacks of this name. */
void graph_bodies_node_starts(struct tracer *tracer, const struct cupti_abi_graph_data *data);
void graph_bodies_graph_created(struct tracer *tracer, const struct cupti_abi_graph_data *data);
/* The node has this id. It has been sent, its clone not yet. */
void graph_bodies_node_created(struct tracer *tracer, const struct cupti_abi_graph_data *data,
			       uint64_t id);
void graph_bodies_node_cloned(const struct cupti_abi_graph_data *data, uint64_t id);
void graph_bodies_exec_created(struct tracer *tracer);

/* The call has returned, within which nodes were made or cloned: handles may die from now on. */
void graph_bodies_call_ends(void);

#endif
