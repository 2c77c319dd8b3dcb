/* SPDX-License-Identifier: MIT */
/*
 * Where the nodes of CUDA graphs were made: node id -> the stack of the call that made it.
 *
 * Ids are a process's own: its graph's number in the upper 32 bits, the node's number in that graph
 * in the lower (seen of CUPTI 13.0). A clone, as instantiating makes one of each node, has its
 * origin's stack. A node that holds a child graph is replaced, when instantiated, by clones of the
 * child's nodes that CUPTI does not announce; they take the numbers behind those of the graph's own
 * nodes, in order, and are found by that.
 *
 * Bounded: the newest GRAPH_NODES_MAX nodes are known.
 */
#ifndef PROFILER_GRAPH_NODES_H
#define PROFILER_GRAPH_NODES_H

#include <stdint.h>
#include "symbolize/hash_index.h"

#ifndef GRAPH_NODES_MAX /* tests have a smaller one */
#define GRAPH_NODES_MAX (1u << 20)
#define GRAPH_CHILDREN_MAX 4096
#endif
#define GRAPH_NODES_UNKNOWN UINT32_MAX

/* Zero-initialised is empty. */
struct graph_nodes {
	struct graph_node *nodes; /* a ring, once full */
	uint32_t count, capacity, next;
	struct hash_index index;
	struct graph_child *children; /* a ring too */
	uint32_t child_count;
	/* the graph whose clones are being told, and of which it is one; 0: none */
	uint32_t run_pid, run_graph, run_origin;
	uint64_t made; /* the node that was told last, if it is not known to be a clone */
};

/*
 * What is said of an id replaces what was said before; a graph's node 0 begins the graph, and all
 * that was said of an earlier one with its number is over. A clone's node is made, then cloned.
 * 0 or -ENOMEM.
 */
int graph_nodes_made(struct graph_nodes *g, uint32_t pid, uint64_t id, uint32_t stack);
int graph_nodes_cloned(struct graph_nodes *g, uint32_t pid, uint64_t id, uint64_t origin);

/* GRAPH_NODES_UNKNOWN if its making was not seen. */
uint32_t graph_nodes_find(struct graph_nodes *g, uint32_t pid, uint64_t id);

/* `pid` starts anew. */
void graph_nodes_forget(struct graph_nodes *g, uint32_t pid);

void graph_nodes_release(struct graph_nodes *g);

#endif
