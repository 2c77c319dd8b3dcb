// SPDX-License-Identifier: MIT
#include "profiler/shape/call_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "symbolize/util/record_set.h"

struct call_tree {
	RECORD_SET(struct call_node); /* by parent and name */
};

static struct call_tree *make_root(void)
{
	static const struct call_node root = {.parent = CALL_TREE_NONE,
					      .first_child = CALL_TREE_NONE,
					      .next_sibling = CALL_TREE_NONE};
	struct call_tree *tree = calloc(1, sizeof(*tree));

	if (tree && record_add_hashed(tree, 0, &root) == CALL_TREE_ROOT)
		return tree;
	free(tree);
	return NULL;
}

void call_tree_free(struct call_tree *tree)
{
	if (!tree)
		return;
	record_set_release(&tree->set);
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

/*
 * Returns the child of `node` with this frame's name, which is added if it is new. Returns
 * CALL_TREE_NONE if out of memory.
 */
static uint32_t child_of(struct call_tree *tree, uint32_t node, const struct result *result,
			 uint32_t frame)
{
	const char *name = result->frames[frame].name;
	struct child_key key = {node, name};
	uint32_t hash = hash_pair(node, hash_bytes(name, strlen(name)));
	uint32_t at = record_find_equal(tree, hash, child_equal, &key);
	struct call_node child = {.name = name,
				  .frame = frame,
				  .parent = node,
				  .is_layer = result->frames[frame].class == CLASS_LAYER,
				  .first_child = CALL_TREE_NONE,
				  .next_sibling = tree->list[node].first_child};

	if (at != RECORD_NONE)
		return at;
	at = record_add_hashed(tree, hash, &child);
	if (at == RECORD_NONE)
		return CALL_TREE_NONE;
	tree->list[node].first_child = at;
	return at;
}

static int by_name(const void *a, const void *b, void *nodes)
{
	const struct call_node *n = nodes;

	return strcmp(n[*(const uint32_t *)a].name, n[*(const uint32_t *)b].name);
}

/* Returns 0, or -ENOMEM. */
static int sort_children(struct call_tree *tree)
{
	uint32_t *children = malloc(tree->count * sizeof(*children));

	if (!children)
		return -ENOMEM;
	for (uint32_t i = 0; i < tree->count; i++) {
		uint32_t n = 0, *link = &tree->list[i].first_child;

		for (uint32_t at = *link; at != CALL_TREE_NONE; at = tree->list[at].next_sibling)
			children[n++] = at;
		qsort_r(children, n, sizeof(*children), by_name, tree->list);
		for (uint32_t j = 0; j < n; j++) {
			*link = children[j];
			link = &tree->list[children[j]].next_sibling;
		}
		*link = CALL_TREE_NONE;
	}
	free(children);
	return 0;
}

/* Finds the node of each stack. A stack comes after the stack around it. */
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

		struct call_node *node = &tree->list[nodes[row->stack]];

		node->weight_ns[row->kind] += (double)row->ns;
		node->count[row->kind] += row->count;
		node->bytes += row->bytes;
	}
	free(nodes);
	hash_index_release(&tree->set.index);
	if (sort_children(tree) == 0)
		return tree;
	call_tree_free(tree);
	return NULL;
}

const struct call_node *call_tree_nodes(const struct call_tree *tree, uint32_t *count)
{
	*count = tree->count;
	return tree->list;
}

double call_tree_total(const struct call_tree *tree, enum row_kind kind)
{
	double total = 0;

	for (uint32_t i = 0; i < tree->count; i++)
		total += tree->list[i].weight_ns[kind];
	return total;
}
