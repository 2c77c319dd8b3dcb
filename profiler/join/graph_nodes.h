/* SPDX-License-Identifier: MIT */
/*
 * Maps nodes of CUDA graphs, by id and time, to the stacks that created them.
 *
 * Ids are per process. The upper 32 bits are the graph's number, the lower 32 the node's number in
 * it (observed with CUPTI 13.0). Instantiating a graph clones each node; a clone has its original's
 * stack. It also replaces a node that holds a child graph by clones of the child's nodes. CUPTI
 * does not announce these inlined clones. Their numbers follow those of the graph's own nodes, in
 * order.
 *
 * A destroyed graph's number may be reused while records of its work are still to come. So graphs
 * are also identified by their start time, and looked up by number and launch time. Events about
 * one number must arrive in order of time. They do: a graph ends before the next one with its
 * number begins, on any thread. Events about different numbers, and nodes and launches, may arrive
 * in any order.
 *
 * A conditional node (IF, WHILE, SWITCH) holds graphs, its bodies, which have numbers of their own.
 * Clones of a conditional node have clones of its bodies. Instantiating moves the nodes of bodies
 * into the executable graph, with new ids. CUPTI 13.0 reports their work under these ids, without
 * the launch's correlation id. So launches of graphs with conditional nodes are kept, and found by
 * time: launches of one executable graph do not overlap. If several were queued before the first
 * ran, the latest is taken.
 *
 * Memory is bounded by nodes_max, graphs_max and a quota. Graphs whose number was reused are
 * dropped first, in order of reuse, then the oldest. A lookup visits the newest graph of a number
 * and at most GRAPH_NODES_OLDER_MAX older ones.
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
#define GRAPH_NODES_MOST_PARTS 8 /* graphs searched of one number that do not begin with node 0 */
#define GRAPH_CHILDREN_MAX 4096
#define GRAPH_NODES_PROCESSES 1024
#define GRAPH_NODES_THREADS 256 /* threads that may announce child graphs concurrently */
#define GRAPH_NODES_NEWEST UINT64_MAX
#define GRAPH_NODES_DEPTH 32          /* nesting of conditional nodes; CUDA's limit is lower */
#define GRAPH_NODES_NEW_BODIES 1024   /* bodies that wait for their first node, of all processes */
#define GRAPH_NODES_LAUNCHES 65536u   /* kept launches of graphs with conditional nodes */
#define GRAPH_NODES_LAUNCH_STEPS 4096 /* launches searched of one graph */

/* Weak reference to a graph. Zero: none. */
struct graph_ref {
	uint32_t position; /* position plus one */
	uint32_t age;
};

/* Graphs in the order in which they are dropped. Positions plus one; 0: none. */
struct graph_list {
	uint32_t first, last;
};

/* The clones that a thread is announcing. */
struct graph_run {
	uint32_t process, tid;
	uint32_t graph;  /* graph of the clones; 0: none */
	uint32_t origin; /* graph that was cloned */
	uint64_t made;   /* node announced last, unless it is known to be a clone */
};

/* Weak reference to a node. */
struct node_ref {
	struct graph_ref graph;
	uint32_t index;
};

/* Zero-initialised is empty. */
struct graph_nodes {
	uint32_t nodes_max, graphs_max; /* 0: GRAPH_NODES_MAX and GRAPH_NODES_GRAPHS_MAX */
	struct graph *graphs;
	uint32_t graph_count, graph_capacity, free_graph;
	struct hash_index numbers; /* newest graph of each number */
	struct graph_list current, succeeded;
	uint32_t of_process[GRAPH_NODES_PROCESSES]; /* graphs per process, by process modulo size */

	struct graph_node *nodes;
	uint32_t node_count, node_capacity, free_node;
	struct hash_index index;

	struct quota *memory;             /* borrowed; NULL: no limit */
	uint32_t paid_graphs, paid_nodes; /* charged to it: the maximum so far */

	struct graph_child *children; /* a ring */
	uint32_t child_count;
	struct graph_run runs[GRAPH_NODES_THREADS];

	bool has_bodies;
	struct new_body *new_bodies; /* a ring */
	uint32_t new_body_count;
	struct graph_launch *launches; /* a ring */
	uint32_t launch_count;

	/* last lookup: a launch's nodes come one after another */
	struct {
		uint32_t process, number;
		uint64_t time_ns;
		struct graph *graph; /* NULL: no valid lookup */
		uint32_t node;       /* position plus one; may hold another graph's node by now */
	} last;
};

/*
 * Note that a thread created or cloned a node at this time (0: unknown). Node 0 begins another
 * graph with that number. So does a node that the graph already has, or can no longer get. A clone
 * is first made, then cloned, without a time. Return 0, or -ENOMEM.
 */
int graph_nodes_made(struct graph_nodes *g, uint32_t process, uint32_t tid, uint64_t id,
		     uint64_t time_ns, struct capture_stack stack);
int graph_nodes_cloned(struct graph_nodes *g, uint32_t process, uint32_t tid, uint64_t id,
		       uint64_t origin);

/* Returns the stack of the node that had this id at this time, or CAPTURE_UNSEEN. */
struct capture_stack graph_nodes_find(struct graph_nodes *g, uint32_t process, uint64_t id,
				      uint64_t time_ns);

/*
 * Notes that node `was` of a body has moved into the executable graph, with the id `id`. Returns 0,
 * or -ENOMEM.
 */
int graph_nodes_moved(struct graph_nodes *g, uint32_t process, uint64_t id, uint64_t was);

/*
 * Notes that node `holder` executes the graph `number`, made at this time. Returns 0, or -ENOMEM.
 */
int graph_nodes_body(struct graph_nodes *g, uint32_t process, uint32_t number, uint64_t holder,
		     uint64_t time_ns);

/*
 * Returns true if there has been a conditional node. Otherwise the following functions find
 * nothing.
 */
static inline bool graph_nodes_has_bodies(const struct graph_nodes *g)
{
	return g->has_bodies;
}

/*
 * Copies the stacks of the conditional nodes that enclose a node which ran at this time, innermost
 * first. Returns their number, or 0 if the node is in no body.
 */
uint32_t graph_nodes_enclosing(struct graph_nodes *g, uint32_t process, uint64_t id,
			       uint64_t time_ns, struct stack_id stacks[GRAPH_NODES_DEPTH]);

/*
 * Notes that a graph is launched, or that one of its own nodes has run. Ignores graphs without
 * bodies.
 */
void graph_nodes_launched(struct graph_nodes *g, uint32_t process, uint32_t number,
			  uint64_t time_ns, uint32_t correlation_id);

/*
 * Returns the correlation id of the latest launch that may have run a node at this time. Returns 0
 * if unknown, or if its graph has no conditional nodes.
 */
uint32_t graph_nodes_launch(struct graph_nodes *g, uint32_t process, uint64_t id, uint64_t time_ns);

/* Passes the numbers of stacks in use to the visitor. */
void graph_nodes_visit(struct graph_nodes *g, const struct id_visitor *visitor);

/* Forgets a process that has ended. */
void graph_nodes_forget(struct graph_nodes *g, uint32_t process);

void graph_nodes_release(struct graph_nodes *g);

#endif
