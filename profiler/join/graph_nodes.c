// SPDX-License-Identifier: MIT
#include "profiler/join/graph_nodes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "symbolize/util/array.h"

#define NO_GRAPH UINT32_MAX

struct graph_node {
	uint32_t graph; /* position, or NO_GRAPH */
	uint32_t index;
	struct capture_stack stack;
	uint32_t next; /* next of the graph's nodes, in order of announcement; or next free one */
	bool is_inferred;      /* found by its number without an announcement */
	struct graph_ref body; /* body that the node was moved from */
};

struct graph {
	uint64_t since_ns; /* start; not before its predecessor's */
	uint64_t inlined;  /* number of its children's nodes */
	uint32_t process, number;
	uint32_t age;                       /* distinguishes the uses of a slot */
	struct graph_ref older;             /* previous graph with its number */
	uint32_t first_node, last_node;     /* positions plus one, like all here; 0: none */
	uint32_t own;                       /* number of nodes announced from 0 on without a gap */
	uint32_t index_end;                 /* highest announced number plus one */
	uint32_t first_child, children_end; /* bounds of its children */
	uint32_t previous, next;            /* links of its list; or next free one */
	struct node_ref holder;             /* conditional node that executes this graph */
	bool has_bodies;                    /* has nodes that execute bodies */
	uint32_t newest_launch;             /* count of its newest launch; 0: none */
	bool is_used, is_succeeded;
	bool is_whole; /* began with node 0 */
};

/* A node of `graph` that holds a clone of `child`, which has this many nodes. */
struct graph_child {
	struct graph_ref graph, child;
	uint64_t offset; /* number of earlier children's nodes */
	uint32_t node_count;
};

/* A body that has no nodes yet. */
struct new_body {
	uint32_t process, number; /* number 0: taken */
	struct node_ref holder;
};

/* A launch of a graph that has conditional nodes. */
struct graph_launch {
	uint64_t time_ns;
	uint32_t correlation_id;
	uint32_t previous; /* count of the graph's previous launch; 0: none */
};

static uint32_t number_of(uint64_t id)
{
	return (uint32_t)(id >> 32);
}

/* ---- nodes ---- */

struct node_key {
	uint32_t graph, index;
};

static bool node_equal(const void *records, uint32_t position, const void *key)
{
	const struct graph_node *n = (const struct graph_node *)records + position;
	const struct node_key *k = key;

	return n->index == k->index && n->graph == k->graph;
}

static struct graph_node *find_node(const struct graph_nodes *g, const struct graph *graph,
				    uint32_t index)
{
	struct node_key key = {(uint32_t)(graph - g->graphs), index};
	uint32_t at =
		hash_index_find(&g->index, hash_pair(key.graph, index), node_equal, g->nodes, &key);

	return at == HASH_INDEX_NONE ? NULL : &g->nodes[at];
}

static bool is_announced(const struct graph_nodes *g, const struct graph *graph, uint32_t index)
{
	const struct graph_node *node = find_node(g, graph, index);

	return node && !node->is_inferred;
}

/* Removes the graph's first node. Returns its position. */
static uint32_t pop_node(struct graph_nodes *g, struct graph *graph)
{
	uint32_t at = graph->first_node - 1;
	struct graph_node *node = &g->nodes[at];

	hash_index_remove(&g->index, hash_pair(node->graph, node->index), at);
	graph->first_node = node->next;
	if (!node->next)
		graph->last_node = 0;
	node->graph = NO_GRAPH;
	return at;
}

/* ---- graphs ---- */

static struct graph_ref ref_of(const struct graph_nodes *g, const struct graph *graph)
{
	return (struct graph_ref){(uint32_t)(graph - g->graphs) + 1, graph->age};
}

static struct graph *deref(const struct graph_nodes *g, struct graph_ref ref)
{
	struct graph *graph = ref.position ? &g->graphs[ref.position - 1] : NULL;

	return graph && graph->is_used && graph->age == ref.age ? graph : NULL;
}

static void list(struct graph_nodes *g, struct graph_list *l, struct graph *graph)
{
	uint32_t at = (uint32_t)(graph - g->graphs) + 1;

	graph->previous = l->last;
	graph->next = 0;
	if (l->last)
		g->graphs[l->last - 1].next = at;
	else
		l->first = at;
	l->last = at;
}

static void unlist(struct graph_nodes *g, struct graph *graph)
{
	struct graph_list *l = graph->is_succeeded ? &g->succeeded : &g->current;

	if (graph->previous)
		g->graphs[graph->previous - 1].next = graph->next;
	else
		l->first = graph->next;
	if (graph->next)
		g->graphs[graph->next - 1].previous = graph->previous;
	else
		l->last = graph->previous;
}

static void drop_graph(struct graph_nodes *g, struct graph *graph)
{
	uint32_t at = (uint32_t)(graph - g->graphs);

	while (graph->first_node) {
		uint32_t node = pop_node(g, graph);

		g->nodes[node].next = g->free_node;
		g->free_node = node + 1;
	}
	unlist(g, graph);
	if (!graph->is_succeeded)
		hash_index_remove(&g->numbers, hash_pair(graph->process, graph->number), at);
	g->of_process[graph->process % GRAPH_NODES_PROCESSES]--;
	g->last.graph = NULL;
	graph->is_used = false;
	graph->age++;
	graph->next = g->free_graph;
	g->free_graph = at + 1;
}

static struct graph *oldest(const struct graph_nodes *g)
{
	return &g->graphs[(g->succeeded.first ? g->succeeded.first : g->current.first) - 1];
}

/* Returns an unused graph, dropping the oldest if needed. Returns NULL if memory is exhausted. */
static struct graph *free_graph(struct graph_nodes *g)
{
	uint32_t max = g->graphs_max ? g->graphs_max : GRAPH_NODES_GRAPHS_MAX;

	if (!g->free_graph &&
	    (g->graph_count == max || !quota_extend(g->memory, g->graph_count, &g->paid_graphs,
						    sizeof(struct graph) + HASH_INDEX_ENTRY_BYTES)))
		drop_graph(g, oldest(g));
	if (g->free_graph)
		return &g->graphs[g->free_graph - 1];
	if (!array_make_room(&g->graphs, g->graph_count, &g->graph_capacity, sizeof(*g->graphs)))
		return NULL;
	g->graphs[g->graph_count] = (struct graph){.is_used = false};
	return &g->graphs[g->graph_count];
}

static bool graph_equal(const void *records, uint32_t position, const void *key)
{
	const struct graph *graph = (const struct graph *)records + position;
	const struct graph *k = key;

	return graph->number == k->number && graph->process == k->process;
}

static struct graph *find_newest(const struct graph_nodes *g, uint32_t process, uint32_t number)
{
	struct graph key = {.process = process, .number = number};
	uint32_t at = hash_index_find(&g->numbers, hash_pair(process, number), graph_equal,
				      g->graphs, &key);

	return at == HASH_INDEX_NONE ? NULL : &g->graphs[at];
}

/* Lets `graph` replace an older one with its number. */
static void succeed(struct graph_nodes *g, struct graph *graph, struct graph *older)
{
	graph->older = ref_of(g, older);
	if (graph->since_ns < older->since_ns)
		graph->since_ns = older->since_ns;
	unlist(g, older);
	older->is_succeeded = true;
	list(g, &g->succeeded, older);
}

/* Begins a new graph. Returns NULL if memory is exhausted. */
static struct graph *begin_graph(struct graph_nodes *g, uint32_t process, uint32_t number,
				 uint64_t time_ns, bool is_whole)
{
	struct graph *graph = free_graph(g), *older = find_newest(g, process, number);
	uint32_t hash = hash_pair(process, number), at;

	if (!graph)
		return NULL;
	g->last.graph = NULL; /* the array may have moved */
	at = (uint32_t)(graph - g->graphs);
	if (older)
		hash_index_remove(&g->numbers, hash, (uint32_t)(older - g->graphs));
	/* cannot fail if there is an older one */
	if (hash_index_add(&g->numbers, hash, at) != 0)
		return NULL;
	if (at == g->graph_count)
		g->graph_count++;
	else
		g->free_graph = graph->next;
	*graph = (struct graph){.since_ns = time_ns,
				.process = process,
				.number = number,
				.age = graph->age,
				.is_used = true,
				.is_whole = is_whole};
	if (older)
		succeed(g, graph, older);
	list(g, &g->current, graph);
	g->of_process[process % GRAPH_NODES_PROCESSES]++;
	return graph;
}

/* Returns the graph that had the number at that time. Returns NULL if unknown or too long ago. */
static struct graph *find_graph(const struct graph_nodes *g, uint32_t process, uint32_t number,
				uint64_t time_ns)
{
	struct graph *graph = find_newest(g, process, number);

	for (uint32_t i = 0; graph && graph->since_ns > time_ns; i++)
		graph = i < GRAPH_NODES_OLDER_MAX ? deref(g, graph->older) : NULL;
	return graph;
}

/* ---- nodes of graphs ---- */

static bool has_room(struct graph_nodes *g)
{
	uint32_t max = g->nodes_max ? g->nodes_max : GRAPH_NODES_MAX;

	return g->free_node || (g->node_count < max &&
				quota_extend(g->memory, g->node_count, &g->paid_nodes,
					     sizeof(struct graph_node) + HASH_INDEX_ENTRY_BYTES));
}

/*
 * Finds a position for a new node of `graph`, dropping the oldest node if needed. Returns 0, or
 * -ENOMEM.
 */
static int take_place(struct graph_nodes *g, const struct graph *graph, uint32_t *at)
{
	if (!has_room(g)) {
		struct graph *from = oldest(g); /* all graphs have a node, except one that begins */

		*at = pop_node(g, from);
		if (!from->first_node && from != graph)
			drop_graph(g, from);
		return 0;
	}
	if (g->free_node) {
		*at = g->free_node - 1;
		g->free_node = g->nodes[*at].next;
		return 0;
	}
	if (!array_make_room(&g->nodes, g->node_count, &g->node_capacity, sizeof(*g->nodes)))
		return -ENOMEM;
	*at = g->node_count++;
	return 0;
}

static int add_node(struct graph_nodes *g, struct graph *graph, uint32_t index,
		    struct capture_stack stack)
{
	uint32_t position = (uint32_t)(graph - g->graphs), at;

	if (take_place(g, graph, &at) != 0)
		return -ENOMEM;
	if (hash_index_add(&g->index, hash_pair(position, index), at) != 0) {
		g->nodes[at].next = g->free_node;
		g->free_node = at + 1;
		return -ENOMEM;
	}
	g->nodes[at] = (struct graph_node){.graph = position, .index = index, .stack = stack};
	if (graph->last_node)
		g->nodes[graph->last_node - 1].next = at + 1;
	else
		graph->first_node = at + 1;
	graph->last_node = at + 1;
	return 0;
}

/* Announces a node. A later announcement replaces an earlier one. */
static int announce(struct graph_nodes *g, struct graph *graph, uint32_t index,
		    struct capture_stack stack)
{
	struct graph_node *node = find_node(g, graph, index);
	int err = 0;

	if (node) {
		node->stack = stack;
		node->is_inferred = false;
	} else {
		err = add_node(g, graph, index, stack);
	}
	if (err && !graph->first_node)
		drop_graph(g, graph);
	if (err)
		return err;
	if (graph->index_end <= index)
		graph->index_end = index + 1;
	while (is_announced(g, graph, graph->own))
		graph->own++;
	return 0;
}

/* ---- bodies of conditional nodes ---- */

static bool is_body(const struct graph *graph)
{
	return graph && graph->holder.graph.position != 0;
}

static void set_holder(struct graph_nodes *g, struct graph *body, struct node_ref holder)
{
	struct graph *graph = deref(g, holder.graph);

	if (!graph || graph == body)
		return;
	body->holder = holder;
	graph->has_bodies = true;
}

/* Begins a graph that may be a body waiting for its first node. */
static void begin_body(struct graph_nodes *g, struct graph *graph)
{
	uint32_t n = g->new_body_count < GRAPH_NODES_NEW_BODIES ? g->new_body_count
								: GRAPH_NODES_NEW_BODIES;

	for (uint32_t i = 1; i <= n; i++) {
		struct new_body *new =
			&g->new_bodies[(g->new_body_count - i) % GRAPH_NODES_NEW_BODIES];

		if (new->number != graph->number || new->process != graph->process)
			continue;
		set_holder(g, graph, new->holder);
		new->number = 0;
		return;
	}
}

/* ---- children ---- */

static void add_child(struct graph_nodes *g, struct graph *graph, const struct graph *child)
{
	if (!g->children)
		g->children = calloc(GRAPH_CHILDREN_MAX, sizeof(*g->children));
	if (!g->children || !child)
		return;
	if (!graph->inlined)
		graph->first_child = g->child_count;
	g->children[g->child_count++ % GRAPH_CHILDREN_MAX] =
		(struct graph_child){.graph = ref_of(g, graph),
				     .child = ref_of(g, child),
				     .offset = graph->inlined,
				     .node_count = child->own};
	graph->children_end = g->child_count;
	graph->inlined += child->own;
}

static struct graph_run *run_of(struct graph_nodes *g, uint32_t process, uint32_t tid)
{
	/* two threads with one slot lose children; without a seed, runs are reproducible */
	uint64_t place = ((uint64_t)process << 32 | tid) * 0x9e3779b97f4a7c15u >> 32;
	struct graph_run *run = &g->runs[place % GRAPH_NODES_THREADS];

	if (run->process != process || run->tid != tid)
		*run = (struct graph_run){.process = process, .tid = tid};
	return run;
}

/*
 * Finds child graphs by the order of announcements. CUPTI announces clones graph by graph, each
 * within one call. A child's clones come just before the node that holds them. So where
 * announcements return from a later graph to an earlier one, the later graph is that node's child.
 * The exception is reused numbers: the earlier graph is a clone of the later, or both are clones of
 * one.
 */
static void follow_run(struct graph_nodes *g, struct graph_run *run, struct graph *graph,
		       uint32_t origin)
{
	if (run->graph == graph->number)
		return;
	if (run->graph > graph->number && origin != run->graph && origin != run->origin &&
	    !is_body(find_newest(g, graph->process, run->graph)))
		add_child(g, graph, find_newest(g, graph->process, run->graph));
	run->graph = graph->number;
	run->origin = origin;
}

/*
 * Returns true for the number of an inlined node. Valid once all of the graph's own nodes have been
 * announced.
 */
static bool is_inlined(const struct graph *graph, uint32_t index)
{
	return index >= graph->own && index - graph->own < graph->inlined;
}

/*
 * Returns true if the graph can no longer create this node, so that another graph has its number.
 */
static bool is_over(const struct graph_nodes *g, const struct graph *graph, uint32_t index)
{
	if (index == 0 || is_announced(g, graph, index))
		return true;
	/* nodes announced after inlining have numbers above the inlined ones */
	return is_inlined(graph, index) && graph->index_end > graph->own + graph->inlined;
}

/* Finds an inlined node. Inlined nodes are numbered after the graph's own, child by child. */
static const struct graph_node *find_in_children(const struct graph_nodes *g,
						 const struct graph *graph, uint32_t index)
{
	uint32_t at = index - graph->own, i = graph->children_end;
	uint32_t since = g->child_count - i, kept = i - graph->first_child;

	if (!is_inlined(graph, index) || since >= GRAPH_CHILDREN_MAX)
		return NULL;
	if (kept > GRAPH_CHILDREN_MAX - since)
		kept = GRAPH_CHILDREN_MAX - since;
	for (i -= kept; kept > 0; i++, kept--) {
		const struct graph_child *c = &g->children[i % GRAPH_CHILDREN_MAX];
		const struct graph *child;

		if (deref(g, c->graph) != graph || at < c->offset ||
		    at - c->offset >= c->node_count)
			continue;
		child = deref(g, c->child);
		return child ? find_node(g, child, at - (uint32_t)c->offset) : NULL;
	}
	return NULL;
}

/* ---- interface ---- */

int graph_nodes_made(struct graph_nodes *g, uint32_t process, uint32_t tid, uint64_t id,
		     uint64_t time_ns, struct capture_stack stack)
{
	struct graph_run *run = run_of(g, process, tid);
	uint32_t index = (uint32_t)id;
	struct graph *graph;

	if (id == 0)
		return 0; /* not from CUPTI */
	/* the last node was no clone: the next clone belongs to another graph */
	if (run->made)
		run->graph = 0;
	run->made = id;
	graph = find_newest(g, process, number_of(id));
	if (!graph || is_over(g, graph, index)) {
		graph = begin_graph(g, process, number_of(id), time_ns, index == 0);
		if (graph && graph_nodes_has_bodies(g))
			begin_body(g, graph);
	}
	return graph ? announce(g, graph, index, stack) : -ENOMEM;
}

int graph_nodes_cloned(struct graph_nodes *g, uint32_t process, uint32_t tid, uint64_t id,
		       uint64_t origin)
{
	struct graph_run *run = run_of(g, process, tid);
	struct graph *graph;
	struct capture_stack stack;

	if (id == 0)
		return 0;
	run->made = 0;
	stack = graph_nodes_find(g, process, origin, GRAPH_NODES_NEWEST);
	graph = find_newest(g, process, number_of(id));
	if (!graph)
		graph = begin_graph(g, process, number_of(id), 0, (uint32_t)id == 0);
	if (!graph)
		return -ENOMEM;
	follow_run(g, run, graph, number_of(origin));
	return announce(g, graph, (uint32_t)id, stack);
}

/* Tries the node announced after the one found last: nodes mostly run in that order. */
static const struct graph_node *find_following(const struct graph_nodes *g,
					       const struct graph *graph, uint32_t index)
{
	const struct graph_node *node = g->last.node ? &g->nodes[g->last.node - 1] : NULL;

	if (!node || !node->next)
		return NULL;
	node = &g->nodes[node->next - 1];
	return node->index == index && node->graph == (uint32_t)(graph - g->graphs) ? node : NULL;
}

static bool find_in_graph(struct graph_nodes *g, struct graph *graph, uint32_t index,
			  struct capture_stack *stack)
{
	const struct graph_node *node = find_following(g, graph, index);
	bool is_inferred;

	if (!node)
		node = find_node(g, graph, index);
	is_inferred = !node;
	if (!node)
		node = find_in_children(g, graph, index);
	if (!node)
		return false;
	*stack = node->stack;
	g->last.node = (uint32_t)(node - g->nodes) + 1;
	if (is_inferred && has_room(g) && add_node(g, graph, index, *stack) == 0)
		g->nodes[graph->last_node - 1].is_inferred = true; /* found at once next time */
	return true;
}

static struct graph *find_last(struct graph_nodes *g, uint32_t process, uint32_t number,
			       uint64_t time_ns)
{
	if (g->last.graph && g->last.number == number && g->last.time_ns == time_ns &&
	    g->last.process == process)
		return g->last.graph;
	g->last.process = process;
	g->last.number = number;
	g->last.time_ns = time_ns;
	g->last.graph = find_graph(g, process, number, time_ns);
	return g->last.graph;
}

struct capture_stack graph_nodes_find(struct graph_nodes *g, uint32_t process, uint64_t id,
				      uint64_t time_ns)
{
	struct graph *graph = find_last(g, process, number_of(id), time_ns);
	struct capture_stack stack;

	for (int part = 0; graph && part < GRAPH_NODES_MOST_PARTS; part++) {
		if (find_in_graph(g, graph, (uint32_t)id, &stack))
			return stack;
		/* a graph with few announcements has a node or two, announced incidentally */
		graph = graph->is_whole ? NULL : deref(g, graph->older);
	}
	return CAPTURE_UNSEEN;
}

int graph_nodes_moved(struct graph_nodes *g, uint32_t process, uint64_t id, uint64_t was)
{
	struct graph *graph = find_newest(g, process, number_of(id));
	const struct graph *body = find_newest(g, process, number_of(was));
	const struct graph_node *node = body ? find_node(g, body, (uint32_t)was) : NULL;
	struct graph_ref from;
	int err;

	if (!graph || !node || graph == body)
		return 0; /* not from CUPTI, or dropped */
	from = ref_of(g, body);
	err = announce(g, graph, (uint32_t)id, node->stack);
	if (err)
		return err;
	find_node(g, graph, (uint32_t)id)->body = from;
	return 0;
}

int graph_nodes_body(struct graph_nodes *g, uint32_t process, uint32_t number, uint64_t holder,
		     uint64_t time_ns)
{
	const struct graph *enclosing = find_newest(g, process, number_of(holder));
	struct graph *body = find_newest(g, process, number);
	struct node_ref ref;

	if (!g->new_bodies)
		g->new_bodies = calloc(GRAPH_NODES_NEW_BODIES, sizeof(*g->new_bodies));
	if (!g->new_bodies)
		return -ENOMEM;
	if (!enclosing || !number)
		return 0; /* not from CUPTI, or dropped */
	g->has_bodies = true;
	ref = (struct node_ref){ref_of(g, enclosing), (uint32_t)holder};
	if (body && body->since_ns >= time_ns) {
		set_holder(g, body, ref);
		return 0;
	}
	/* the body has no nodes yet */
	g->new_bodies[g->new_body_count % GRAPH_NODES_NEW_BODIES] =
		(struct new_body){process, number, ref};
	if (++g->new_body_count == 0)
		g->new_body_count = GRAPH_NODES_NEW_BODIES; /* wrapped: still full */
	return 0;
}

/* Returns the body that the node was in, as far as known, or NULL. */
static const struct graph *body_of(const struct graph_nodes *g, const struct graph *graph,
				   uint32_t index)
{
	const struct graph_node *node = graph ? find_node(g, graph, index) : NULL;

	return node && node->body.position ? deref(g, node->body) : graph;
}

uint32_t graph_nodes_enclosing(struct graph_nodes *g, uint32_t process, uint64_t id,
			       uint64_t time_ns, struct stack_id stacks[GRAPH_NODES_DEPTH])
{
	const struct graph *body =
		body_of(g, find_graph(g, process, number_of(id), time_ns), (uint32_t)id);
	uint32_t count = 0;

	for (int i = 0; is_body(body) && i < GRAPH_NODES_DEPTH; i++) {
		const struct graph *graph = deref(g, body->holder.graph);
		const struct graph_node *node =
			graph ? find_node(g, graph, body->holder.index) : NULL;

		if (node && !same_id(node->stack, CAPTURE_UNSEEN))
			stacks[count++].number = node->stack.number;
		body = graph;
	}
	return count;
}

/* Returns the graph whose launch runs this one. */
static struct graph *root_of(const struct graph_nodes *g, struct graph *graph)
{
	for (int i = 0; is_body(graph) && i < GRAPH_NODES_DEPTH; i++)
		graph = deref(g, graph->holder.graph);
	return graph;
}

static void add_launch(struct graph_nodes *g, struct graph *graph, uint64_t time_ns,
		       uint32_t correlation_id)
{
	const struct graph_launch *newest =
		&g->launches[graph->newest_launch % GRAPH_NODES_LAUNCHES];

	if (graph->newest_launch && newest->correlation_id == correlation_id &&
	    newest->time_ns <= time_ns)
		return; /* known already */
	if (++g->launch_count == 0)
		g->launch_count = 1;
	g->launches[g->launch_count % GRAPH_NODES_LAUNCHES] =
		(struct graph_launch){time_ns, correlation_id, graph->newest_launch};
	graph->newest_launch = g->launch_count;
}

void graph_nodes_launched(struct graph_nodes *g, uint32_t process, uint32_t number,
			  uint64_t time_ns, uint32_t correlation_id)
{
	struct graph *graph = find_graph(g, process, number, time_ns);

	if (!graph || !graph->has_bodies || is_body(graph) || !correlation_id)
		return;
	if (!g->launches)
		g->launches = calloc(GRAPH_NODES_LAUNCHES, sizeof(*g->launches));
	if (!g->launches)
		return;
	add_launch(g, graph, time_ns, correlation_id);
}

uint32_t graph_nodes_launch(struct graph_nodes *g, uint32_t process, uint64_t id, uint64_t time_ns)
{
	const struct graph *root = root_of(g, find_graph(g, process, number_of(id), time_ns));
	uint32_t at = root ? root->newest_launch : 0;

	for (int i = 0; at && i < GRAPH_NODES_LAUNCH_STEPS; i++) {
		const struct graph_launch *launch = &g->launches[at % GRAPH_NODES_LAUNCHES];

		if (g->launch_count - at >= GRAPH_NODES_LAUNCHES)
			return 0; /* overwritten since */
		if (launch->time_ns <= time_ns)
			return launch->correlation_id;
		at = launch->previous;
	}
	return 0;
}

void graph_nodes_visit(struct graph_nodes *g, const struct id_visitor *v)
{
	for (uint32_t i = 0; i < g->node_count; i++)
		if (g->nodes[i].graph != NO_GRAPH)
			visit_stack_or_mark(v, &g->nodes[i].stack.number);
}

void graph_nodes_forget(struct graph_nodes *g, uint32_t process)
{
	if (g->of_process[process % GRAPH_NODES_PROCESSES] > 0)
		for (uint32_t i = 0; i < g->graph_count; i++)
			if (g->graphs[i].is_used && g->graphs[i].process == process)
				drop_graph(g, &g->graphs[i]);
	for (uint32_t i = 0; i < GRAPH_NODES_THREADS; i++)
		if (g->runs[i].process == process)
			g->runs[i] = (struct graph_run){0};
}

void graph_nodes_release(struct graph_nodes *g)
{
	free(g->graphs);
	free(g->nodes);
	free(g->children);
	free(g->new_bodies);
	free(g->launches);
	hash_index_release(&g->numbers);
	hash_index_release(&g->index);
	memset(g, 0, sizeof(*g));
}
