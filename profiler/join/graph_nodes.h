/* SPDX-License-Identifier: MIT */
/*
 * Where the nodes of CUDA graphs were created: node id and time -> stack of the creating call.
 *
 * Ids are per process: the graph's number in the upper 32 bits, the node's number within the graph
 * in the lower 32 (observed with CUPTI 13.0). Instantiating a graph clones each node; a clone has
 * its original's stack. Instantiating also replaces a node that holds a child graph by clones of
 * the child's nodes. CUPTI does not announce these clones; their numbers follow those of the
 * graph's own nodes, in order, which is how they are found.
 *
 * A destroyed graph's number may be reused while records of its work are still to come. So graphs
 * are also identified by the time at which they began, and looked up by number and launch time.
 * Events about one number must arrive in order of time, and they do: a graph ends before the next
 * one with its number begins, on whichever threads. Events about different numbers, and nodes and
 * launches, may arrive in any order.
 *
 * A conditional node (IF, WHILE, SWITCH) holds graphs, its bodies, which have numbers of their own.
 * Clones of a conditional node have clones of its bodies. Instantiating moves the nodes of bodies
 * into the executable graph, where they get new ids. CUPTI 13.0 reports their work under these ids,
 * without the correlation id of the launch, so launches of graphs that have conditional nodes are
 * kept, too, and found by time: launches of one executable graph do not overlap. Where several were
 * queued before the first ran, the latest is taken.
 *
 * Memory is bounded by nodes_max, graphs_max and an quota: graphs whose
 * number has been reused are dropped first, in order of that reuse, then the oldest. Lookup time is
 * bounded too: a lookup visits the newest graph of a number and at most GRAPH_NODES_OLDER_MAX
 * before it.
 */
#ifndef PROFILER_JOIN_GRAPH_NODES_H
#define PROFILER_JOIN_GRAPH_NODES_H

#include <stdbool.h>
#include <stdint.h>
#include "profiler/base/quota.h"
#include "profiler/model/gpu_stack.h"
#include "profiler/model/id_remap.h"
#include "symbolize/util/hash_index.h"

#define GRAPH_NODES_MAX (1u << 20)
#define GRAPH_NODES_GRAPHS_MAX (1u << 17)
#define GRAPH_NODES_OLDER_MAX 4096
#define GRAPH_NODES_MOST_PARTS 8 /* graphs of a number that do not begin with node 0, searched */
#define GRAPH_CHILDREN_MAX 4096
#define GRAPH_NODES_PROCESSES 1024
#define GRAPH_NODES_THREADS 256 /* that may announce child graphs concurrently */
#define GRAPH_NODES_NEWEST UINT64_MAX
#define GRAPH_NODES_DEPTH 32          /* of conditional nodes in bodies; CUDA's limit is lower */
#define GRAPH_NODES_NEW_BODIES 1024   /* that wait for their first node, of all processes */
#define GRAPH_NODES_LAUNCHES 65536u   /* of graphs with conditional nodes */
#define GRAPH_NODES_LAUNCH_STEPS 4096 /* of one graph that are looked at */

/* A graph that may be dropped before it is looked at. Zero: none. */
struct graph_ref {
	uint32_t position; /* plus one */
	uint32_t age;
};

/* Graphs in the order in which they are dropped. Positions plus one, 0: none. */
struct graph_list {
	uint32_t first, last;
};

/* The clones that a thread is announcing. */
struct graph_run {
	uint32_t process, tid;
	uint32_t graph;  /* the graph they belong to; 0: none */
	uint32_t origin; /* the graph that was cloned */
	uint64_t made;   /* the node announced last, unless it is known to be a clone */
};

/* A node of a graph that may be dropped. */
struct node_ref {
	struct graph_ref graph;
	uint32_t index;
};

/* Zero-initialised is empty. */
struct graph_nodes {
	uint32_t nodes_max, graphs_max; /* 0: GRAPH_NODES_MAX and GRAPH_NODES_GRAPHS_MAX */
	struct graph *graphs;
	uint32_t graph_count, graph_capacity, free_graph;
	struct hash_index numbers; /* the newest graph of each number */
	struct graph_list current, succeeded;
	uint32_t of_process[GRAPH_NODES_PROCESSES]; /* graphs per process, by process modulo this */

	struct graph_node *nodes;
	uint32_t node_count, node_capacity, free_node;
	struct hash_index index;

	struct quota *memory;             /* borrowed; NULL: no limit */
	uint32_t paid_graphs, paid_nodes; /* taken from it: what was most */

	struct graph_child *children; /* a ring */
	uint32_t child_count;
	struct graph_run runs[GRAPH_NODES_THREADS];

	bool has_bodies;
	struct new_body *new_bodies; /* a ring */
	uint32_t new_body_count;
	struct graph_launch *launches; /* a ring */
	uint32_t launch_count;

	/* the last lookup: a launch's nodes come one after another */
	struct {
		uint32_t process, number;
		uint64_t time_ns;
		struct graph *graph; /* NULL: no valid lookup */
		uint32_t node;       /* position plus one; may hold another graph's node by now */
	} last;
};

/*
 * A thread created a node at this time (0: unknown). A graph's node 0, and a node that the graph
 * already has or can no longer get, begin another graph with that number. A clone is first made,
 * then cloned, which carries no time. 0 or -ENOMEM.
 */
int graph_nodes_made(struct graph_nodes *g, uint32_t process, uint32_t tid, uint64_t id,
		     uint64_t time_ns, struct capture_stack stack);
int graph_nodes_cloned(struct graph_nodes *g, uint32_t process, uint32_t tid, uint64_t id,
		       uint64_t origin);

/* The stack of the node that had this id at this time; CAPTURE_UNSEEN: its creation was not seen.
 */
struct capture_stack graph_nodes_find(struct graph_nodes *g, uint32_t process, uint64_t id,
				      uint64_t time_ns);

/*
 * A node that was `was`, in a body, has had the id `id` since it was moved into the executable
 * graph. 0 or -ENOMEM.
 */
int graph_nodes_moved(struct graph_nodes *g, uint32_t process, uint64_t id, uint64_t was);

/*
 * The node `holder` executes the graph `number`, which was made at this time. 0 or -ENOMEM.
 */
int graph_nodes_body(struct graph_nodes *g, uint32_t process, uint32_t number, uint64_t holder,
		     uint64_t time_ns);

/* Returns whether there has been a conditional node; else the following have nothing to say. */
static inline bool graph_nodes_has_bodies(const struct graph_nodes *g)
{
	return g->has_bodies;
}

/*
 * The stacks of the conditional nodes around a node that ran then, from the innermost outwards, as
 * far as known. Returns how many; 0: it is in no body.
 */
uint32_t graph_nodes_around(struct graph_nodes *g, uint32_t process, uint64_t id, uint64_t time_ns,
			    struct stack_id stacks[GRAPH_NODES_DEPTH]);

/* A graph is launched, or one of its own nodes has run; only graphs with bodies are of interest. */
void graph_nodes_launched(struct graph_nodes *g, uint32_t process, uint32_t number,
			  uint64_t time_ns, uint32_t correlation_id);

/*
 * The correlation id of the latest launch by which a node may have run at a time; 0: not known, or
 * its graph has no conditional nodes.
 */
uint32_t graph_nodes_launch(struct graph_nodes *g, uint32_t process, uint64_t id, uint64_t time_ns);

/* Shows the numbers of stacks in use. */
void graph_nodes_visit(struct graph_nodes *g, const struct id_visitor *visitor);

/* `process` has ended. */
void graph_nodes_forget(struct graph_nodes *g, uint32_t process);

void graph_nodes_release(struct graph_nodes *g);

#endif
