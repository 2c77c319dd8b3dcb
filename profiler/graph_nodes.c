// SPDX-License-Identifier: MIT
#include "profiler/graph_nodes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct graph_node {
	uint64_t id; /* 0: free */
	uint32_t pid;
	uint32_t stack;
	bool is_inferred; /* not announced: found by its number */
	bool is_gone;     /* its graph is no more: only its place is kept */
};

/* `graph` has a node that holds a clone of another graph: `child`, of so many nodes. */
struct graph_child {
	uint32_t pid;
	uint32_t graph;
	uint32_t child;
	uint32_t node_count;
};

static uint32_t graph_of(uint64_t id)
{
	return (uint32_t)(id >> 32);
}

static uint64_t id_of(uint32_t graph, uint32_t index)
{
	return (uint64_t)graph << 32 | index;
}

struct key {
	uint64_t id;
	uint32_t pid;
};

static uint32_t hash_key(const struct key *key)
{
	uint64_t h = (key->id ^ (uint64_t)key->pid << 40) * 0x9e3779b97f4a7c15u;

	return (uint32_t)(h >> 32);
}

static bool node_equal(const void *records, uint32_t position, const void *key)
{
	const struct graph_node *n = (const struct graph_node *)records + position;
	const struct key *k = key;

	return n->id == k->id && n->pid == k->pid;
}

/* The node's place, also if it is gone. */
static struct graph_node *find_place(const struct graph_nodes *g, uint32_t pid, uint64_t id)
{
	struct key key = {id, pid};
	uint32_t at = hash_index_find(&g->index, hash_key(&key), node_equal, g->nodes, &key);

	return at == HASH_INDEX_NONE ? NULL : &g->nodes[at];
}

static struct graph_node *find(const struct graph_nodes *g, uint32_t pid, uint64_t id)
{
	struct graph_node *node = find_place(g, pid, id);

	return node && !node->is_gone ? node : NULL;
}

static void unlink_node(struct graph_nodes *g, uint32_t at)
{
	struct key key = {g->nodes[at].id, g->nodes[at].pid};

	if (key.id)
		hash_index_remove(&g->index, hash_key(&key), at);
	g->nodes[at].id = 0;
}

/* The place of the next new node: a fresh one, or the oldest's. */
static int take_place(struct graph_nodes *g, uint32_t *at)
{
	if (g->count == GRAPH_NODES_MAX) {
		*at = g->next;
		g->next = (g->next + 1) % GRAPH_NODES_MAX;
		unlink_node(g, *at);
		return 0;
	}
	if (g->count == g->capacity) {
		uint32_t capacity = g->capacity ? g->capacity * 2 : 1024;
		struct graph_node *nodes = realloc(g->nodes, capacity * sizeof(*nodes));

		if (!nodes)
			return -ENOMEM;
		g->nodes = nodes;
		g->capacity = capacity;
	}
	*at = g->count;
	g->nodes[*at].id = 0;
	g->count++;
	return 0;
}

static int set(struct graph_nodes *g, uint32_t pid, uint64_t id, uint32_t stack)
{
	struct graph_node *node = find_place(g, pid, id);
	struct key key = {id, pid};
	uint32_t at;

	if (node) {
		node->stack = stack;
		node->is_inferred = node->is_gone = false;
		return 0;
	}
	if (take_place(g, &at) != 0)
		return -ENOMEM;
	if (hash_index_add(&g->index, hash_key(&key), at) != 0)
		return -ENOMEM;
	g->nodes[at] = (struct graph_node){.id = id, .pid = pid, .stack = stack};
	return 0;
}

/* ---- children ---- */

static uint32_t children_kept(const struct graph_nodes *g)
{
	return g->child_count < GRAPH_CHILDREN_MAX ? g->child_count : GRAPH_CHILDREN_MAX;
}

/* How many nodes a graph was told to have: they are numbered from 0. */
static uint32_t count_own(const struct graph_nodes *g, uint32_t pid, uint32_t graph)
{
	const struct graph_node *node;
	uint32_t n = 0;

	while ((node = find(g, pid, id_of(graph, n))) && !node->is_inferred)
		n++;
	return n;
}

static void add_child(struct graph_nodes *g, uint32_t pid, uint32_t graph, uint32_t child)
{
	if (!g->children)
		g->children = calloc(GRAPH_CHILDREN_MAX, sizeof(*g->children));
	if (g->children)
		g->children[g->child_count++ % GRAPH_CHILDREN_MAX] =
			(struct graph_child){pid, graph, child, count_own(g, pid, child)};
}

/* A graph begins: one that had its number before is gone, with its children. */
static void begin_graph(struct graph_nodes *g, uint32_t pid, uint32_t graph)
{
	uint32_t kept = children_kept(g), end = count_own(g, pid, graph);
	struct graph_node *node;

	for (uint32_t i = 0; i < kept; i++) {
		struct graph_child *c = &g->children[i];

		if (c->pid == pid && c->graph == graph) {
			end += c->node_count;
			*c = (struct graph_child){0};
		}
	}
	for (uint32_t i = 0; (node = find(g, pid, id_of(graph, i))) || i < end; i++)
		if (node)
			node->is_gone = true;
}

/*
 * Clones are told graph by graph; a child's come just before the node that holds it. So where the
 * telling goes back from a later graph to an earlier one, the run before was that node's child. Not
 * so where numbers are used again and the earlier is a clone of the later, or both are of one.
 */
static void follow_run(struct graph_nodes *g, uint32_t pid, uint32_t graph, uint32_t origin)
{
	if (g->run_graph == graph && g->run_pid == pid)
		return;
	if (g->run_graph > graph && g->run_pid == pid && origin != g->run_graph &&
	    origin != g->run_origin)
		add_child(g, pid, graph, g->run_graph);
	g->run_pid = pid;
	g->run_graph = graph;
	g->run_origin = origin;
}

int graph_nodes_made(struct graph_nodes *g, uint32_t pid, uint64_t id, uint32_t stack)
{
	if (id == 0)
		return 0; /* none that CUPTI gives */
	/* one that was made and not as a clone: what is cloned next is another matter */
	if (g->made)
		g->run_graph = 0;
	g->made = id;
	if ((uint32_t)id == 0)
		begin_graph(g, pid, graph_of(id));
	return set(g, pid, id, stack);
}

int graph_nodes_cloned(struct graph_nodes *g, uint32_t pid, uint64_t id, uint64_t origin)
{
	if (id == 0)
		return 0;
	g->made = 0;
	follow_run(g, pid, graph_of(id), graph_of(origin));
	return set(g, pid, id, graph_nodes_find(g, pid, origin));
}

/* Nodes that came in a child's place: numbered behind the graph's own, child by child. */
static uint32_t find_in_children(const struct graph_nodes *g, uint32_t pid, uint64_t id)
{
	uint32_t kept = children_kept(g), first = g->child_count - kept;
	uint32_t graph = graph_of(id), index = (uint32_t)id, base = count_own(g, pid, graph);
	const struct graph_node *node;

	for (uint32_t i = first; i != g->child_count; i++) {
		const struct graph_child *c = &g->children[i % GRAPH_CHILDREN_MAX];

		if (c->pid != pid || c->graph != graph)
			continue;
		if (index >= base && index - base < c->node_count) {
			node = find(g, pid, id_of(c->child, index - base));
			return node ? node->stack : GRAPH_NODES_UNKNOWN;
		}
		base += c->node_count;
	}
	return GRAPH_NODES_UNKNOWN;
}

uint32_t graph_nodes_find(struct graph_nodes *g, uint32_t pid, uint64_t id)
{
	const struct graph_node *node = find(g, pid, id);
	uint32_t stack;

	if (node)
		return node->stack;
	stack = g->child_count ? find_in_children(g, pid, id) : GRAPH_NODES_UNKNOWN;
	if (stack != GRAPH_NODES_UNKNOWN && set(g, pid, id, stack) == 0)
		find(g, pid, id)->is_inferred = true; /* found at once next time */
	return stack;
}

void graph_nodes_forget(struct graph_nodes *g, uint32_t pid)
{
	for (uint32_t i = 0; i < g->count; i++)
		if (g->nodes[i].id && g->nodes[i].pid == pid)
			unlink_node(g, i);
	for (uint32_t i = 0; g->children && i < GRAPH_CHILDREN_MAX; i++)
		if (g->children[i].pid == pid)
			g->children[i] = (struct graph_child){0};
	if (g->run_pid == pid)
		g->run_graph = 0;
	g->made = 0;
}

void graph_nodes_release(struct graph_nodes *g)
{
	free(g->nodes);
	free(g->children);
	hash_index_release(&g->index);
	memset(g, 0, sizeof(*g));
}
