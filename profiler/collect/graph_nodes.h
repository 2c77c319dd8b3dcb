/* SPDX-License-Identifier: MIT */
/*
 * Where the nodes of CUDA graphs were made: node id, at some time -> the stack of the call that
 * made it.
 *
 * Ids are a process's own: its graph's number in the upper 32 bits, the node's number in that graph
 * in the lower (seen of CUPTI 13.0). A clone, as instantiating makes one of each node, has its
 * origin's stack. A node that holds a child graph is replaced, when instantiated, by clones of the
 * child's nodes that CUPTI does not announce; they take the numbers behind those of the graph's own
 * nodes, in order, and are found by that.
 *
 * When a graph is gone another may get its number while work of the first is still to be told of.
 * So graphs are kept apart by when they began: one is asked for by a number and the time of a
 * launch. What is told of a number must come in order of time, as it does: a graph ends before the
 * next of its number begins, whichever threads see to that. Between numbers, and between nodes and
 * launches, order does not matter.
 *
 * Bounded by GRAPH_NODES_MAX and GRAPH_NODES_GRAPHS_MAX: first graphs whose number another has by
 * now are forgotten, in the order in which that came about; then the oldest. Time is bounded, too:
 * a launch's graph is looked for among the newest of its number and GRAPH_NODES_OLDER_MAX before
 * it.
 */
#ifndef PROFILER_COLLECT_GRAPH_NODES_H
#define PROFILER_COLLECT_GRAPH_NODES_H

#include <stdbool.h>
#include <stdint.h>
#include "symbolize/hash_index.h"

#ifndef GRAPH_NODES_MAX /* tests have smaller ones */
#define GRAPH_NODES_MAX (1u << 20)
#define GRAPH_NODES_GRAPHS_MAX (1u << 18)
#define GRAPH_NODES_OLDER_MAX 4096
#define GRAPH_CHILDREN_MAX 4096
#endif
#define GRAPH_NODES_PROCESSES 1024
#define GRAPH_NODES_THREADS 256 /* that may tell of children at once without mixing them up */
#define GRAPH_NODES_UNKNOWN UINT32_MAX
#define GRAPH_NODES_NEWEST UINT64_MAX

/* A graph that may be forgotten by the time it is looked at. Zero: none. */
struct graph_ref {
	uint32_t position; /* one more than that */
	uint32_t age;
};

/* Graphs in the order in which they are to be forgotten. Positions one more, 0: none. */
struct graph_list {
	uint32_t first, last;
};

/* What a thread is telling of. */
struct graph_run {
	uint32_t process, tid;
	uint32_t graph;  /* whose clones they are; 0: none */
	uint32_t origin; /* of which graph that is a clone */
	uint64_t made;   /* the node that was told last, if it is not known to be a clone */
};

/* Zero-initialised is empty. */
struct graph_nodes {
	struct graph *graphs;
	uint32_t graph_count, graph_capacity, free_graph;
	struct hash_index numbers; /* the newest graph of each number */
	struct graph_list current, succeeded;
	uint32_t of_process[GRAPH_NODES_PROCESSES]; /* how many graphs, by process modulo this */

	struct graph_node *nodes;
	uint32_t node_count, node_capacity, free_node;
	struct hash_index index;

	struct graph_child *children; /* a ring */
	uint32_t child_count;
	struct graph_run runs[GRAPH_NODES_THREADS];

	/* what was asked last, and found: a launch's nodes come one after another */
	struct {
		uint32_t process, number;
		uint64_t time_ns;
		struct graph *graph; /* NULL: ask again */
		uint32_t node;       /* position, one more; it may be another's by now */
	} last;
};

/*
 * A node was made by a thread at this time, 0: not told. A graph's node 0, and a node that the
 * graph has or cannot get any more, begin another graph with the number. A clone's node is made,
 * then cloned; that has no time of its own. 0 or -ENOMEM.
 */
int graph_nodes_made(struct graph_nodes *g, uint32_t process, uint32_t tid, uint64_t id,
		     uint64_t time_ns, uint32_t stack);
int graph_nodes_cloned(struct graph_nodes *g, uint32_t process, uint32_t tid, uint64_t id,
		       uint64_t origin);

/*
 * The stack of the node that had this id at this time; GRAPH_NODES_UNKNOWN if its making was not
 * seen.
 */
uint32_t graph_nodes_find(struct graph_nodes *g, uint32_t process, uint64_t id, uint64_t time_ns);

/* `process` has ended. */
void graph_nodes_forget(struct graph_nodes *g, uint32_t process);

void graph_nodes_release(struct graph_nodes *g);

#endif
