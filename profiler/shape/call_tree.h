/* SPDX-License-Identifier: MIT */
/*
 * A result's rows as a tree of names, for outputs in which equal names are one: root first.
 *
 * A node's weight is its own (self) weight in ns, as double, apart for each kind of row; a path
 * appears once however many addresses led to it. Children are sorted by name (byte order), and a
 * node's number is above its parent's.
 */
#ifndef PROFILER_SHAPE_CALL_TREE_H
#define PROFILER_SHAPE_CALL_TREE_H

#include <stdint.h>
#include "profiler/model/result.h"

#define CALL_TREE_NONE UINT32_MAX
#define CALL_TREE_ROOT 0u

struct call_node {
	const char *name; /* the result's; NULL for the root */
	uint32_t frame;   /* the first one with this name here, in the result's frames */
	uint32_t parent;
	uint32_t first_child;
	uint32_t next_sibling;
	double weight_ns[ROW_KINDS];
	uint64_t count[ROW_KINDS]; /* of samples, operations, waits, calls */
	uint64_t bytes;            /* of operations */
};

/* Returns the time of a node without those inside it. */
static inline double call_node_ns(const struct call_node *node)
{
	double sum = 0;

	for (int kind = 0; kind < ROW_KINDS; kind++)
		sum += node->weight_ns[kind];
	return sum;
}

struct call_tree;

/* The tree of a result, which must outlive it. NULL: out of memory. */
struct call_tree *call_tree_new(const struct result *result);
void call_tree_free(struct call_tree *tree);

const struct call_node *call_tree_nodes(const struct call_tree *tree, uint32_t *count);

/* Sum of a kind's weights over the tree, ns. */
double call_tree_total(const struct call_tree *tree, enum row_kind kind);

#endif
