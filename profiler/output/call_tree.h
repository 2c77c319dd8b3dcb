/* SPDX-License-Identifier: MIT */
/*
 * The profile with names: a tree of frames, root first. Writers see nothing else.
 *
 * A node's weight is its own (self) weight in ns, as double, apart for CPU, GPU, waiting and timed
 * calls; equal paths are one node, so a path appears once however many addresses led to it. Names
 * hold no control characters; what else a format cannot carry is the writer's business. Children
 * are sorted by name (byte order) once call_tree_sort has run.
 */
#ifndef PROFILER_OUTPUT_CALL_TREE_H
#define PROFILER_OUTPUT_CALL_TREE_H

#include <stdint.h>

enum weight_kind { WEIGHT_CPU, WEIGHT_GPU, WEIGHT_WAIT, WEIGHT_CALL, WEIGHT_KINDS };

#define CALL_TREE_NONE UINT32_MAX
#define CALL_TREE_ROOT 0u

struct call_node {
	const char *name; /* borrowed from whoever named it; NULL for the root */
	uint32_t parent;
	uint32_t first_child;
	uint32_t next_sibling;
	double weight_ns[WEIGHT_KINDS];
};

struct call_tree;

struct call_tree *call_tree_new(void);
void call_tree_free(struct call_tree *tree);

/* The child of `node` with this name, made if need be; CALL_TREE_NONE when out of memory. */
uint32_t call_tree_child(struct call_tree *tree, uint32_t node, const char *name);

void call_tree_add_weight(struct call_tree *tree, uint32_t node, enum weight_kind kind, double ns);

/* Sorts all children by name. 0 or -ENOMEM. */
int call_tree_sort(struct call_tree *tree);

const struct call_node *call_tree_nodes(const struct call_tree *tree, uint32_t *count);

/* Sum of a kind's weights over the tree, ns. */
double call_tree_total(const struct call_tree *tree, enum weight_kind kind);

/*
 * Whole numbers for all nodes' weights of one kind in units of `unit_ns`, such that their sum is
 * the rounded sum of the weights (largest remainder; ties go to the earlier node). `out` has room
 * for every node. Returns the sum. 0 or -ENOMEM.
 */
int call_tree_round(const struct call_tree *tree, enum weight_kind kind, double unit_ns,
		    uint64_t *out, uint64_t *total);

#endif
