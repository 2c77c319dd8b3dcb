// SPDX-License-Identifier: MIT
#include "profiler/formats/flame_layout.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct making {
	struct flame_layout *layout;
	const struct flame_limits *limits;
	const struct call_node *nodes;
	uint32_t node_count;
	double *total_ns; /* by node: including its callees */
	uint32_t *depth;  /* by node; reused for the box that has its time */
	uint32_t *stack;  /* nodes still to be placed, the next one last */
	uint32_t *order;  /* by node: position among its siblings; reused for its box */
	double *inner_ns; /* by box: time of the callees placed so far */
};

/* Computes times and depths. A node's number is above its parent's. */
static void measure(struct making *m)
{
	for (uint32_t i = 0; i < m->node_count; i++) {
		m->total_ns[i] = call_node_ns(&m->nodes[i]);
		m->depth[i] = i == CALL_TREE_ROOT ? 0 : m->depth[m->nodes[i].parent] + 1;
	}
	for (uint32_t i = m->node_count - 1; i > CALL_TREE_ROOT; i--)
		m->total_ns[m->nodes[i].parent] += m->total_ns[i];
}

static bool is_kept(const struct making *m, uint32_t node)
{
	if (node == CALL_TREE_ROOT)
		return true;
	return m->depth[node] <= m->limits->depth && m->total_ns[node] > 0 &&
	       m->total_ns[node] >= m->layout->least_ns;
}

static uint32_t count_kept(const struct making *m)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < m->node_count; i++)
		count += is_kept(m, i);
	return count;
}

/* Chooses the least time of a box. Returns the number of boxes. */
static uint32_t choose(struct making *m)
{
	struct flame_layout *layout = m->layout;
	double all_ns = m->total_ns[CALL_TREE_ROOT];
	uint32_t count;

	layout->least_ns = all_ns * m->limits->least_share;
	count = count_kept(m);
	while (count > m->limits->boxes && layout->least_ns < all_ns) {
		layout->least_ns = layout->least_ns > 0 ? layout->least_ns * 1.25 : 1;
		count = count_kept(m);
	}
	for (uint32_t i = 0; i < m->node_count; i++) {
		if (is_kept(m, i) || m->total_ns[i] <= 0)
			continue;
		if (m->depth[i] > m->limits->depth)
			layout->deep++;
		else
			layout->narrow++;
	}
	return count;
}

/*
 * Orders siblings from the last to the first: by time, the largest first; of equal ones the first
 * child. Layers come before, in the order in which they were first seen.
 */
static int last_first(const void *a, const void *b, void *making)
{
	const struct making *m = making;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	if (m->nodes[x].is_layer != m->nodes[y].is_layer)
		return m->nodes[x].is_layer ? 1 : -1;
	if (m->nodes[x].is_layer)
		return x < y ? 1 : -1;

	if (m->total_ns[x] != m->total_ns[y])
		return m->total_ns[x] < m->total_ns[y] ? -1 : 1;
	return m->order[x] < m->order[y] ? 1 : -1;
}

/* Pushes the kept children of a node, so that the first is next. Returns the new height. */
static uint32_t push_children(struct making *m, uint32_t node, uint32_t height)
{
	uint32_t first = height, order = 0;

	for (uint32_t at = m->nodes[node].first_child; at != CALL_TREE_NONE;
	     at = m->nodes[at].next_sibling) {
		m->order[at] = order++;
		if (is_kept(m, at))
			m->stack[height++] = at;
	}
	if (height - first > 1)
		qsort_r(&m->stack[first], height - first, sizeof(*m->stack), last_first, m);
	return height;
}

static void add_box(struct making *m, uint32_t node, uint32_t parent)
{
	struct flame_layout *layout = m->layout;
	uint32_t at = layout->count++;
	struct flame_box *box = &layout->boxes[at];

	*box = (struct flame_box){.node = node,
				  .parent = parent,
				  .depth = m->depth[node],
				  .total_ns = m->total_ns[node]};
	if (parent == FLAME_NO_BOX)
		return;
	box->start_ns = layout->boxes[parent].start_ns + m->inner_ns[parent];
	m->inner_ns[parent] += box->total_ns;
}

/* Places boxes depth first. No recursion: the tree of a recursive program is deep. */
static void place(struct making *m)
{
	struct flame_layout *layout = m->layout;
	uint32_t height = 0;

	m->stack[height++] = CALL_TREE_ROOT;
	while (height > 0) {
		uint32_t node = m->stack[--height], parent = layout->count - 1;

		if (node == CALL_TREE_ROOT)
			parent = FLAME_NO_BOX;
		while (parent != FLAME_NO_BOX &&
		       layout->boxes[parent].node != m->nodes[node].parent)
			parent = layout->boxes[parent].parent;
		add_box(m, node, parent);
		height = push_children(m, node, height);
	}
}

static void add_amount(struct flame_amount *to, const struct flame_amount *amount)
{
	for (int kind = 0; kind < ROW_KINDS; kind++) {
		to->ns[kind] += amount->ns[kind];
		to->count[kind] += amount->count[kind];
	}
	to->bytes += amount->bytes;
}

static struct flame_amount amount_of(const struct call_node *node)
{
	struct flame_amount amount = {.bytes = node->bytes};

	memcpy(amount.ns, node->weight_ns, sizeof(amount.ns));
	memcpy(amount.count, node->count, sizeof(amount.count));
	return amount;
}

/* Adds each node to the box that has its time, and each box to its caller. */
static void add_up(struct making *m)
{
	struct flame_layout *layout = m->layout;
	uint32_t *box_of = m->depth;

	for (uint32_t i = 0; i < m->node_count; i++)
		m->order[i] = FLAME_NO_BOX;
	for (uint32_t i = 0; i < layout->count; i++)
		m->order[layout->boxes[i].node] = i;
	for (uint32_t i = 0; i < m->node_count; i++) {
		struct flame_amount amount = amount_of(&m->nodes[i]);
		bool is_in_box = m->order[i] != FLAME_NO_BOX;
		struct flame_box *box;

		box_of[i] = is_in_box ? m->order[i] : box_of[m->nodes[i].parent];
		box = &layout->boxes[box_of[i]];
		add_amount(&box->all, &amount);
		if (is_in_box)
			continue;
		add_amount(&box->rest, &amount);
		box->left_out += m->total_ns[i] > 0;
	}
	for (uint32_t i = layout->count - 1; i > 0; i--)
		add_amount(&layout->boxes[layout->boxes[i].parent].all, &layout->boxes[i].all);
}

int flame_layout_make(struct flame_layout *layout, const struct call_tree *tree,
		      const struct flame_limits *limits)
{
	struct making m = {.layout = layout, .limits = limits};
	uint32_t count = 0;
	int err = -ENOMEM;

	*layout = (struct flame_layout){0};
	m.nodes = call_tree_nodes(tree, &m.node_count);
	m.total_ns = malloc(m.node_count * sizeof(*m.total_ns));
	m.depth = malloc(m.node_count * sizeof(*m.depth));
	m.order = malloc(m.node_count * sizeof(*m.order));
	if (!m.total_ns || !m.depth || !m.order)
		goto out;
	measure(&m);
	count = choose(&m);
	layout->boxes = malloc(count * sizeof(*layout->boxes));
	m.stack = malloc(count * sizeof(*m.stack));
	m.inner_ns = calloc(count, sizeof(*m.inner_ns));
	if (!layout->boxes || !m.stack || !m.inner_ns)
		goto out;
	place(&m);
	add_up(&m);
	err = 0;
out:
	free(m.total_ns);
	free(m.depth);
	free(m.order);
	free(m.stack);
	free(m.inner_ns);
	if (err)
		flame_layout_release(layout);
	return err;
}

void flame_layout_release(struct flame_layout *layout)
{
	free(layout->boxes);
	*layout = (struct flame_layout){0};
}
