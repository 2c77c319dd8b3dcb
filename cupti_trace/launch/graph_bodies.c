// SPDX-License-Identifier: MIT
#include "cupti_trace/launch/graph_bodies.h"

#include <stdlib.h>
#include "cupti_trace/core/clock.h"
#include "cupti_trace/core/sink.h"
#include "cupti_trace/launch/launch_log.h"
#include "symbolize/util/array.h"

#define DEPTH 32 /* limit of nested conditional nodes; CUDA's is lower */
/* Limit of bodies in nodes that are being created; others are not sent. */
#define BODIES_MAX 1024u
#define MOVED_MAX (1u << 20) /* limit of nodes in one graph's bodies; others are not found */

struct body {
	uint32_t number;
	uint64_t time_ns;
};

struct clone {
	void *node;
	uint64_t id;
};

/* The thread's state; allocated at the first conditional node of a call. */
static __thread struct building {
	/* conditional nodes that are being created, the outermost first */
	struct {
		void *graph;         /* graph that contains the node */
		uint32_t first_body; /* index in `bodies` */
	} open[DEPTH];
	uint32_t depth;
	uint32_t body_count;
	struct body bodies[BODIES_MAX];
	/* nodes in bodies, in order of cloning */
	struct clone *clones;
	uint32_t clone_count, clone_capacity;
} * building;

/* Returns the innermost open node of a graph, counted from 1; 0: none. */
static uint32_t find_open(const struct building *b, const void *graph)
{
	uint32_t at = b->depth;

	while (at > 0 && b->open[at - 1].graph != graph)
		at--;
	return at;
}

static void close_to(struct building *b, uint32_t depth)
{
	if (depth >= b->depth)
		return;
	b->depth = depth;
	b->body_count = b->open[depth].first_body;
}

void graph_bodies_node_starts(struct tracer *tracer, const struct cupti_abi_graph_data *data)
{
	struct building *b = building;
	uint32_t at;

	if (!data)
		return;
	/* an earlier node of this graph was not created after all */
	at = b ? find_open(b, data->graph) : 0;
	if (at > 0)
		close_to(b, at - 1);
	if (data->node_type != CUPTI_ABI_NODE_CONDITIONAL)
		return;
	atomic_store(&tracer->has_conditionals, true);
	if (!b)
		b = building = calloc(1, sizeof(*b));
	if (!b || b->depth == DEPTH)
		return;
	b->open[b->depth].graph = data->graph;
	b->open[b->depth].first_body = b->body_count;
	b->depth++;
}

void graph_bodies_graph_created(struct tracer *tracer, const struct cupti_abi_graph_data *data)
{
	struct building *b = building;
	struct body body = {0};

	if (!b || !data || b->depth == 0 || b->body_count == BODIES_MAX ||
	    !tracer->api.cuptiGetGraphId ||
	    tracer->api.cuptiGetGraphId(data->graph, &body.number) != CUPTI_ABI_SUCCESS)
		return;
	body.time_ns = clock_now_ns();
	b->bodies[b->body_count++] = body;
}

void graph_bodies_node_created(struct tracer *tracer, const struct cupti_abi_graph_data *data,
			       uint64_t id)
{
	struct building *b = building;
	uint32_t at = b ? find_open(b, data->graph) : 0;

	if (at == 0)
		return;
	/* open nodes within it were not created after all */
	close_to(b, at);
	for (uint32_t i = b->open[at - 1].first_body; i < b->body_count; i++)
		sink_put(&tracer->sink,
			 &(struct gpu_event){.type = GPU_EVENT_GRAPH,
					     .graph = {.number = b->bodies[i].number,
						       .holder = id,
						       .time_ns = b->bodies[i].time_ns}});
	close_to(b, at - 1);
}

void graph_bodies_node_cloned(const struct cupti_abi_graph_data *data, uint64_t id)
{
	struct building *b = building;

	if (!b || b->depth == 0 || b->clone_count == MOVED_MAX ||
	    !array_make_room(&b->clones, b->clone_count, &b->clone_capacity, sizeof(*b->clones)))
		return;
	b->clones[b->clone_count++] = (struct clone){data->node, id};
}

void graph_bodies_exec_created(struct tracer *tracer)
{
	struct building *b = building;

	for (uint32_t i = 0; b && i < b->clone_count; i++) {
		struct gpu_event event = {.type = GPU_EVENT_NODE,
					  .node = {.origin = b->clones[i].id,
						   .is_moved = 1,
						   .tid = launch_log_tid()}};

		if (tracer->api.cuptiGetGraphNodeId(b->clones[i].node, &event.node.id) ==
			    CUPTI_ABI_SUCCESS &&
		    event.node.id != event.node.origin)
			sink_put(&tracer->sink, &event);
	}
	graph_bodies_call_ends();
}

void graph_bodies_call_ends(void)
{
	if (!building)
		return;
	free(building->clones);
	free(building);
	building = NULL;
}
