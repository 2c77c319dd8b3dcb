// SPDX-License-Identifier: MIT
/* The part of collect that has to do with graphs. */
#include "profiler/collect/collect.h"

int collect_node(struct collect *c, uint32_t pid, const struct gpu_event_node *e)
{
	uint32_t stack;

	if (e->origin)
		return graph_nodes_cloned(&c->graph_nodes, pid, e->tid, e->id, e->origin);
	stack = target_stacks_get(&c->target_stacks, pid, e->stack_id);
	return graph_nodes_made(&c->graph_nodes, pid, e->tid, e->id, e->time_ns,
				stack == TARGET_STACKS_NONE ? GRAPH_NODES_UNKNOWN : stack);
}

/*
 * By then another graph may have the node's id, so the launch says which is meant. Without one, the
 * time at which it ran is the best there is.
 */
uint32_t collect_capture(struct collect *c, uint64_t launched_ns, const struct gpu_operation *o)
{
	uint64_t time_ns = launched_ns ? launched_ns : o->start_ns;
	uint32_t stack;

	if (o->graph_node == 0)
		return PROFILE_NO_CAPTURE;
	stack = graph_nodes_find(&c->graph_nodes, o->process, o->graph_node,
				 time_ns ? time_ns : GRAPH_NODES_NEWEST);
	if (stack != GRAPH_NODES_UNKNOWN)
		return stack;
	c->stats.unseen_nodes++;
	return PROFILE_CAPTURE_UNSEEN;
}
