/* SPDX-License-Identifier: MIT */
/*
 * Makes a tree of names from a result's rows, for outputs in which equal names are one.
 *
 * A path appears once, however many addresses led to it. A node's weight is its own, in ns, by kind
 * of row. Children are sorted by name (byte order). A node's number is above its parent's. Numbers
 * are in the order in which the result's stacks first have the nodes.
 */
#ifndef PROFILER_SHAPE_CALL_TREE_H
#define PROFILER_SHAPE_CALL_TREE_H

#include <stdbool.h>
#include <stdint.h>
#include "profiler/model/result.h"

#define CALL_TREE_NONE UINT32_MAX
#define CALL_TREE_ROOT 0u

struct call_node {
	const char *name; /* borrowed from the result; NULL for the root */
	uint32_t frame;   /* number of the first frame with this name, in the result */
	uint32_t parent;
	uint32_t first_child;
	uint32_t next_sibling;
	bool is_layer; /* the first frame is a layer of a model */
	double weight_ns[ROW_KINDS];
	uint64_t count[ROW_KINDS]; /* samples, operations, waits, calls */
	uint64_t bytes;            /* GPU operations alone */
};

/* Returns the time of a node without its children, in ns. */
static inline double call_node_ns(const struct call_node *node)
{
	double sum = 0;

	for (int kind = 0; kind < ROW_KINDS; kind++)
		sum += node->weight_ns[kind];
	return sum;
}

struct call_tree;

/* Makes the tree of a result, which must outlive the tree. Returns NULL if out of memory. */
struct call_tree *call_tree_new(const struct result *result);
void call_tree_free(struct call_tree *tree);

const struct call_node *call_tree_nodes(const struct call_tree *tree, uint32_t *count);

/* Returns the sum of a kind's weights over the tree, in ns. */
double call_tree_total(const struct call_tree *tree, enum row_kind kind);

#endif
