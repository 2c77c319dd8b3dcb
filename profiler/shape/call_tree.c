// SPDX-License-Identifier: MIT
#include "profiler/shape/call_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "symbolize/util/array.h"
#include "symbolize/util/hash_index.h"

struct call_tree {
	struct call_node *nodes;
	uint32_t count, capacity;
	struct hash_index index; /* (parent, name) -> node */
};

static struct call_tree *make_root(void)
{
	struct call_tree *tree = calloc(1, sizeof(*tree));

	if (!tree || !array_make_room(&tree->nodes, 0, &tree->capacity, sizeof(*tree->nodes))) {
		free(tree);
		return NULL;
	}
	tree->count = 1;
	tree->nodes[0] = (struct call_node){.parent = CALL_TREE_NONE,
					    .first_child = CALL_TREE_NONE,
					    .next_sibling = CALL_TREE_NONE};
	return tree;
}

void call_tree_free(struct call_tree *tree)
{
	if (!tree)
		return;
	free(tree->nodes);
	hash_index_release(&tree->index);
	free(tree);
}

struct child_key {
	uint32_t parent;
	const char *name;
};

static bool child_equal(const void *records, uint32_t position, const void *key)
{
	const struct call_node *node = (const struct call_node *)records + position;
	const struct child_key *k = key;

	return node->parent == k->parent && strcmp(node->name, k->name) == 0;
}

/* The child of `node` with this frame's name, made if need be; CALL_TREE_NONE: out of memory. */
static uint32_t child_of(struct call_tree *tree, uint32_t node, const struct result *result,
			 uint32_t frame)
{
	const char *name = result->frames[frame].name;
	struct child_key key = {node, name};
	uint32_t hash = hash_pair(node, hash_bytes(name, strlen(name)));
	uint32_t at = hash_index_find(&tree->index, hash, child_equal, tree->nodes, &key);

	if (at != HASH_INDEX_NONE)
		return at;
	if (!array_make_room(&tree->nodes, tree->count, &tree->capacity, sizeof(*tree->nodes)) ||
	    hash_index_add(&tree->index, hash, tree->count) != 0)
		return CALL_TREE_NONE;
	at = tree->count++;
	tree->nodes[at] = (struct call_node){.name = name,
					     .frame = frame,
					     .parent = node,
					     .first_child = CALL_TREE_NONE,
					     .next_sibling = tree->nodes[node].first_child};
	tree->nodes[node].first_child = at;
	return at;
}

static int by_name(const void *a, const void *b, void *nodes)
{
	const struct call_node *n = nodes;

	return strcmp(n[*(const uint32_t *)a].name, n[*(const uint32_t *)b].name);
}

/* 0 or -ENOMEM. */
static int sort_children(struct call_tree *tree)
{
	uint32_t *children = malloc(tree->count * sizeof(*children));

	if (!children)
		return -ENOMEM;
	for (uint32_t i = 0; i < tree->count; i++) {
		uint32_t n = 0, *link = &tree->nodes[i].first_child;

		for (uint32_t at = *link; at != CALL_TREE_NONE; at = tree->nodes[at].next_sibling)
			children[n++] = at;
		qsort_r(children, n, sizeof(*children), by_name, tree->nodes);
		for (uint32_t j = 0; j < n; j++) {
			*link = children[j];
			link = &tree->nodes[children[j]].next_sibling;
		}
		*link = CALL_TREE_NONE;
	}
	free(children);
	return 0;
}

/* Nodes of the result's stacks, by their number; stacks come after those around them. */
static bool add_stacks(struct call_tree *tree, const struct result *result, uint32_t *nodes)
{
	nodes[RESULT_ROOT] = CALL_TREE_ROOT;
	for (uint32_t i = RESULT_ROOT + 1; i < result->stack_count; i++) {
		const struct stack_info *stack = &result->stacks[i];

		nodes[i] = child_of(tree, nodes[stack->outer], result, stack->frame);
		if (nodes[i] == CALL_TREE_NONE)
			return false;
	}
	return true;
}

struct call_tree *call_tree_new(const struct result *result)
{
	uint32_t *nodes = malloc((result->stack_count + 1) * sizeof(*nodes));
	struct call_tree *tree = make_root();

	if (!nodes || !tree || !add_stacks(tree, result, nodes)) {
		call_tree_free(tree);
		free(nodes);
		return NULL;
	}
	for (uint32_t i = 0; i < result->row_count; i++) {
		const struct row *row = &result->rows[i];

		struct call_node *node = &tree->nodes[nodes[row->stack]];

		node->weight_ns[row->kind] += (double)row->ns;
		node->count[row->kind] += row->count;
		node->bytes += row->bytes;
	}
	free(nodes);
	hash_index_release(&tree->index);
	if (sort_children(tree) == 0)
		return tree;
	call_tree_free(tree);
	return NULL;
}

const struct call_node *call_tree_nodes(const struct call_tree *tree, uint32_t *count)
{
	*count = tree->count;
	return tree->nodes;
}

double call_tree_total(const struct call_tree *tree, enum row_kind kind)
{
	double total = 0;

	for (uint32_t i = 0; i < tree->count; i++)
		total += tree->nodes[i].weight_ns[kind];
	return total;
}
