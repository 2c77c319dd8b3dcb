/* SPDX-License-Identifier: MIT */
/*
 * An executable graph is a clone of its original graph, with its own graph id and its own node ids,
 * as in CUDA, and records carry these. A child graph node also holds a clone; in an executable
 * graph its nodes have numbers of the whole, after those of its own nodes.
 *
 * The report_* functions make all of CUPTI's callbacks about graphs, in order.
 */
#include "graph.h"
#include "fake_driver.h"
#include "cbid.h"

#include <pthread.h>
#include <stdlib.h>

/* CUgraphNodeType */
enum node_type {
	NODE_KERNEL = 0,
	NODE_COPY = 1,
	NODE_SET = 2,
	NODE_GRAPH = 4,
	NODE_EMPTY = 5,
	NODE_ALLOCATION = 10,
	NODE_RELEASE = 11,
	NODE_CONDITIONAL = 13,
};

/* cudaGraphConditionalNodeType */
enum { CONDITION_IF, CONDITION_WHILE, CONDITION_SWITCH };

/* cudaGraphExecUpdateResult */
enum { UPDATE_SUCCESS = 0, UPDATE_TOPOLOGY_CHANGED = 2, UPDATE_NODE_TYPE_CHANGED = 3 };

struct fake_cuda_graph_node {
	uint64_t id; /* first: cuptiGetGraphNodeId reads it here */
	enum node_type type;
	struct gpu_work work;            /* kernels, copies, sets */
	struct fake_cuda_graph *child;   /* NODE_GRAPH's, owned */
	struct fake_cuda_graph **bodies; /* NODE_CONDITIONAL's, owned */
	unsigned int body_count, value;
	int condition;
	uint64_t inlined_id; /* in records, of what an executable graph's child holds */
	bool reported_destroy;
	struct fake_cuda_graph_node *next;
};

struct fake_cuda_graph {
	uint32_t id, count;
	bool broken; /* ran out of memory while capturing */
	struct fake_cuda_graph_node *first, **end;
};

struct fake_cuda_graph_exec {
	struct fake_cuda_graph *graph;
};

static pthread_mutex_t id_lock = PTHREAD_MUTEX_INITIALIZER;
static uint32_t next_graph_id = 1;
static uint32_t *free_ids; /* with FAKE_CUDA_REUSE_NODE_IDS; the newest is used next */
static size_t free_count, free_capacity;

/* ---- memory ---- */

#define GRAPH_PAGE (UINT64_C(2) << 20)
static uint64_t held[GPU_MAX_DEVICES], most_held[GPU_MAX_DEVICES];

/* As in CUDA, graphs share what is held for them, and it is held until it is trimmed. */
static void hold(uint32_t device, uint64_t bytes)
{
	pthread_mutex_lock(&id_lock);
	if (bytes > held[device])
		held[device] = bytes;
	if (held[device] > most_held[device])
		most_held[device] = held[device];
	pthread_mutex_unlock(&id_lock);
}

void graph_memory_trim(uint32_t device)
{
	pthread_mutex_lock(&id_lock);
	held[device] = 0;
	pthread_mutex_unlock(&id_lock);
}

uint64_t graph_memory_held(uint32_t device, bool most)
{
	uint64_t bytes;

	pthread_mutex_lock(&id_lock);
	bytes = most ? most_held[device] : held[device];
	pthread_mutex_unlock(&id_lock);
	return bytes;
}

/* ---- callbacks ---- */

static void report(uint32_t cbid, struct fake_cuda_graph_data *data)
{
	driver_notify_resource(cbid, gpu_current(), NULL, data);
}

static void report_graph(uint32_t cbid, struct fake_cuda_graph *graph)
{
	struct fake_cuda_graph_data data = {.graph = graph};

	report(cbid, &data);
}

/* Only here is the type known. */
static void report_starts(struct fake_cuda_graph *graph, enum node_type type)
{
	struct fake_cuda_graph_data data = {.graph = graph, .node_type = (int)type};

	report(CUPTI_ABI_RESOURCE_GRAPHNODE_CREATE_STARTING, &data);
}

static void report_created(struct fake_cuda_graph *graph, struct fake_cuda_graph_node *n)
{
	struct fake_cuda_graph_data data = {.graph = graph, .node = n};

	report(CUPTI_ABI_RESOURCE_GRAPHNODE_CREATED, &data);
}

static void report_new(struct fake_cuda_graph *graph, struct fake_cuda_graph_node *n)
{
	report_starts(graph, n->type);
	report_created(graph, n);
}

/* A node that was copied: to a clone, a child graph, or an executable graph. */
static void report_cloned(struct fake_cuda_graph *graph, struct fake_cuda_graph_node *n,
			  const struct fake_cuda_graph *original_graph,
			  const struct fake_cuda_graph_node *original)
{
	struct fake_cuda_graph_data data = {
		.graph = graph,
		.original_graph = (void *)(uintptr_t)original_graph,
		.node = n,
		.original_node = (void *)(uintptr_t)original,
	};

	report_created(graph, n);
	report(CUPTI_ABI_RESOURCE_GRAPHNODE_CLONED, &data);
}

static void report_destroy(struct fake_cuda_graph *graph, struct fake_cuda_graph_node *n)
{
	struct fake_cuda_graph_data data = {.graph = graph, .node = n};

	report(CUPTI_ABI_RESOURCE_GRAPHNODE_DESTROY_STARTING, &data);
}

static void report_exec_created(struct fake_cuda_graph *graph, struct fake_cuda_graph_exec *exec)
{
	struct fake_cuda_graph_data data = {.graph = graph, .graph_exec = exec};

	report(CUPTI_ABI_RESOURCE_GRAPHEXEC_CREATED, &data);
}

/* Its nodes' events come after it. */
static void report_exec_destroy(struct fake_cuda_graph_exec *exec)
{
	struct fake_cuda_graph_data data = {.graph = exec->graph, .graph_exec = exec};

	report(CUPTI_ABI_RESOURCE_GRAPHEXEC_DESTROY_STARTING, &data);
}

/* ---- graphs and nodes ---- */

static uint32_t take_graph_id(void)
{
	uint32_t id;

	pthread_mutex_lock(&id_lock);
	id = free_count ? free_ids[--free_count] : next_graph_id++;
	pthread_mutex_unlock(&id_lock);
	return id;
}

static void give_graph_id(uint32_t id)
{
	if (!gpu_config()->reuse_node_ids)
		return;
	pthread_mutex_lock(&id_lock);
	if (free_count == free_capacity) {
		size_t n = free_capacity ? 2 * free_capacity : 64;
		uint32_t *grown = realloc(free_ids, n * sizeof(*grown));

		if (grown) {
			free_ids = grown;
			free_capacity = n;
		}
	}
	if (free_count < free_capacity)
		free_ids[free_count++] = id;
	pthread_mutex_unlock(&id_lock);
}

static struct fake_cuda_graph *graph_new(void)
{
	struct fake_cuda_graph *g = calloc(1, sizeof(*g));

	if (!g)
		return NULL;
	g->id = take_graph_id();
	g->end = &g->first;
	return g;
}

/* `quiet`: nothing was reported about it. */
static void graph_free(struct fake_cuda_graph *g, bool quiet)
{
	while (g->first) {
		struct fake_cuda_graph_node *n = g->first;

		g->first = n->next;
		if (!quiet && !n->reported_destroy)
			report_destroy(g, n);
		if (n->child)
			graph_free(n->child, quiet);
		for (unsigned int i = 0; i < n->body_count; i++)
			if (n->bodies[i])
				graph_free(n->bodies[i], quiet);
		free(n->bodies);
		free(n);
	}
	if (g->id)
		give_graph_id(g->id);
	free(g);
}

static struct fake_cuda_graph_node *node_add(struct fake_cuda_graph *g, enum node_type type,
					     const struct gpu_work *work)
{
	struct fake_cuda_graph_node *n = calloc(1, sizeof(*n));

	if (!n)
		return NULL;
	n->id = (uint64_t)g->id << 32 | g->count++; /* like CUPTI's */
	n->type = type;
	if (work)
		n->work = *work;
	*g->end = n;
	g->end = &n->next;
	return n;
}

static enum node_type type_of(const struct gpu_work *work)
{
	switch (work->activity.type) {
	case FAKE_CUDA_COPY:
		return NODE_COPY;
	case FAKE_CUDA_SET:
		return NODE_SET;
	default:
		return NODE_KERNEL;
	}
}

static struct fake_cuda_graph *copy_graph(const struct fake_cuda_graph *original);

static bool copy_bodies(struct fake_cuda_graph_node *n, const struct fake_cuda_graph_node *o)
{
	n->condition = o->condition;
	n->value = o->value;
	if (!o->body_count)
		return true;
	n->bodies = calloc(o->body_count, sizeof(*n->bodies));
	if (!n->bodies)
		return false;
	n->body_count = o->body_count;
	for (unsigned int i = 0; i < o->body_count; i++)
		if (!(n->bodies[i] = copy_graph(o->bodies[i])))
			return false;
	return true;
}

/* Add a copy of each node; NULL if memory is short. */
static struct fake_cuda_graph *copy_graph(const struct fake_cuda_graph *original)
{
	struct fake_cuda_graph *g = graph_new();

	if (!g)
		return NULL;
	for (const struct fake_cuda_graph_node *o = original->first; o; o = o->next) {
		struct fake_cuda_graph_node *n = node_add(g, o->type, &o->work);

		if (!n || (o->child && !(n->child = copy_graph(o->child))) || !copy_bodies(n, o)) {
			graph_free(g, true);
			return NULL;
		}
	}
	return g;
}

/* Nodes of a child and of bodies come before the node that holds them. */
static void report_copied(struct fake_cuda_graph *g, const struct fake_cuda_graph *original)
{
	const struct fake_cuda_graph_node *o = original->first;

	report_graph(CUPTI_ABI_RESOURCE_GRAPH_CREATED, g);
	for (struct fake_cuda_graph_node *n = g->first; n && o; n = n->next, o = o->next) {
		report_starts(g, n->type);
		if (n->child)
			report_copied(n->child, o->child);
		for (unsigned int i = 0; i < n->body_count; i++)
			report_copied(n->bodies[i], o->bodies[i]);
		report_cloned(g, n, original, o);
	}
}

/* ---- capture ---- */

int graph_capture_begin(struct fake_cuda_stream *stream)
{
	struct fake_cuda_stream *s = gpu_stream(stream, false);

	if (!s)
		return FAKE_CUDA_ERROR_INVALID_HANDLE;
	if (gpu_stream_is_legacy(s))
		return FAKE_CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	if (*gpu_stream_capture(s))
		return FAKE_CUDA_ERROR_ILLEGAL_STATE;
	return graph_create(gpu_stream_capture(s));
}

int graph_capture_begin_to(struct fake_cuda_stream *stream, struct fake_cuda_graph *graph)
{
	struct fake_cuda_stream *s = gpu_stream(stream, false);

	if (!s)
		return FAKE_CUDA_ERROR_INVALID_HANDLE;
	if (!graph)
		return FAKE_CUDA_ERROR_INVALID_VALUE;
	if (gpu_stream_is_legacy(s))
		return FAKE_CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	if (*gpu_stream_capture(s))
		return FAKE_CUDA_ERROR_ILLEGAL_STATE;
	*gpu_stream_capture(s) = graph;
	return 0;
}

int graph_captured(struct fake_cuda_stream *stream, struct fake_cuda_graph **graph)
{
	struct fake_cuda_stream *s = gpu_stream(stream, false);

	if (!s)
		return FAKE_CUDA_ERROR_INVALID_HANDLE;
	*graph = *gpu_stream_capture(s);
	return 0;
}

static int capture(struct fake_cuda_graph *graph, enum node_type type, const struct gpu_work *work)
{
	struct fake_cuda_graph_node *n = node_add(graph, type, work);

	if (n)
		report_new(graph, n);
	else
		graph->broken = true;
	return 0;
}

int graph_capture_work(struct fake_cuda_graph *graph, const struct gpu_work *work)
{
	return capture(graph, type_of(work), work);
}

static int capture_memory(struct fake_cuda_graph *graph, enum node_type type, void *address,
			  size_t size)
{
	const struct gpu_work work = {
		.activity = {.bytes = size,
			     .address = (uintptr_t)address,
			     .operation = type == NODE_ALLOCATION ? CUPTI_ABI_MEMORY_ALLOCATION
								  : CUPTI_ABI_MEMORY_RELEASE}};
	int err = capture(graph, type, &work);

	memory_record(work.activity.address, size, work.activity.operation);
	return err;
}

int graph_capture_allocation(struct fake_cuda_graph *graph, void **address, size_t size)
{
	int err = memory_reserve(address, size, CUPTI_ABI_MEMORY_DEVICE);

	return err ? err : capture_memory(graph, NODE_ALLOCATION, *address, size);
}

int graph_capture_release(struct fake_cuda_graph *graph, void *address)
{
	if (!memory_known(address, CUPTI_ABI_MEMORY_DEVICE))
		return FAKE_CUDA_ERROR_INVALID_VALUE;
	return capture_memory(graph, NODE_RELEASE, address, 0);
}

int graph_capture_end(struct fake_cuda_stream *stream, struct fake_cuda_graph **graph)
{
	struct fake_cuda_stream *s = gpu_stream(stream, false);

	if (!graph)
		return FAKE_CUDA_ERROR_INVALID_VALUE;
	if (!s)
		return FAKE_CUDA_ERROR_INVALID_HANDLE;
	if (!*gpu_stream_capture(s))
		return FAKE_CUDA_ERROR_ILLEGAL_STATE;
	*graph = *gpu_stream_capture(s);
	*gpu_stream_capture(s) = NULL;
	if (!(*graph)->broken)
		return 0;
	graph_destroy(*graph);
	*graph = NULL;
	return FAKE_CUDA_ERROR_OUT_OF_MEMORY;
}

/* ---- made by hand ---- */

int graph_create(struct fake_cuda_graph **graph)
{
	if (!graph)
		return FAKE_CUDA_ERROR_INVALID_VALUE;
	*graph = graph_new();
	if (!*graph)
		return FAKE_CUDA_ERROR_OUT_OF_MEMORY;
	report_graph(CUPTI_ABI_RESOURCE_GRAPH_CREATED, *graph);
	return 0;
}

static bool has_node(const struct fake_cuda_graph *g, const struct fake_cuda_graph_node *node)
{
	const struct fake_cuda_graph_node *n = g->first;

	while (n && n != node)
		n = n->next;
	return n != NULL;
}

/* Dependencies are nodes of the same graph, so they precede a new one. */
static int check_place(const struct fake_cuda_new_node *where)
{
	if (!where->node || !where->graph || (where->count && !where->dependencies))
		return FAKE_CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < where->count; i++)
		if (!has_node(where->graph, where->dependencies[i]))
			return FAKE_CUDA_ERROR_INVALID_VALUE;
	return 0;
}

static int add_work(const struct fake_cuda_new_node *where, const struct gpu_work *work)
{
	struct fake_cuda_graph_node *n = node_add(where->graph, type_of(work), work);

	if (!n)
		return FAKE_CUDA_ERROR_OUT_OF_MEMORY;
	*where->node = n;
	report_new(where->graph, n);
	return 0;
}

int graph_add_kernel(const struct fake_cuda_new_node *where,
		     const struct fake_cuda_launch_config *config, struct fake_cuda_function *f,
		     void **params)
{
	struct gpu_work work;
	int err = check_place(where);

	if (!err)
		err = driver_kernel_work(&work, config, f, params);
	return err ? err : add_work(where, &work);
}

int graph_add_copy(const struct fake_cuda_new_node *where, void *to, const void *from, size_t size,
		   int to_side, int from_side)
{
	struct memory_copy copy = {
		.bytes = {to, from, size, size, size, 1, 0},
		.to = (enum memory_side)to_side,
		.from = (enum memory_side)from_side,
		.async = true,
	};
	struct gpu_work work;
	int err = check_place(where);

	if (!err && !size)
		err = FAKE_CUDA_ERROR_INVALID_VALUE;
	if (!err)
		err = memory_copy_work(&work, &copy);
	return err ? err : add_work(where, &work);
}

int graph_add_set(const struct fake_cuda_new_node *where, const struct fake_cuda_set_2d *set)
{
	struct gpu_bytes bytes;
	struct gpu_work work;
	int err = check_place(where);

	if (err)
		return err;
	if (!set || !set->width || !set->height ||
	    (set->element_size != 1 && set->element_size != 2 && set->element_size != 4))
		return FAKE_CUDA_ERROR_INVALID_VALUE;
	bytes = (struct gpu_bytes){.to = set->to,
				   .to_pitch = set->pitch,
				   .width = set->width,
				   .height = set->height,
				   .value_size = set->element_size};
	if (set->height > 1 && set->pitch < set->width * set->element_size)
		return FAKE_CUDA_ERROR_INVALID_VALUE;
	err = memory_set_work(&work, &bytes, set->value, true);
	return err ? err : add_work(where, &work);
}

int graph_add_child(const struct fake_cuda_new_node *where, struct fake_cuda_graph *child)
{
	struct fake_cuda_graph *copied;
	struct fake_cuda_graph_node *n;
	int err = check_place(where);

	if (err)
		return err;
	if (!child || child == where->graph)
		return FAKE_CUDA_ERROR_INVALID_VALUE;
	copied = copy_graph(child);
	n = copied ? node_add(where->graph, NODE_GRAPH, NULL) : NULL;
	if (!n) {
		if (copied)
			graph_free(copied, true);
		return FAKE_CUDA_ERROR_OUT_OF_MEMORY;
	}
	n->child = copied;
	*where->node = n;
	report_copied(copied, child);
	report_new(where->graph, n);
	return 0;
}

int graph_condition(uint64_t *handle, struct fake_cuda_graph *graph, unsigned int value)
{
	if (!handle || !graph)
		return FAKE_CUDA_ERROR_INVALID_VALUE;
	*handle = (uint64_t)value + 1; /* 0 is none */
	return 0;
}

int graph_add_conditional(const struct fake_cuda_new_node *where, uint64_t handle, int type,
			  unsigned int size, struct fake_cuda_graph ***bodies)
{
	struct fake_cuda_graph_node *n;
	int err = check_place(where);

	if (err)
		return err;
	if (!handle || !bodies || !size || type < CONDITION_IF || type > CONDITION_SWITCH ||
	    (type == CONDITION_WHILE && size != 1) || (type == CONDITION_IF && size > 2))
		return FAKE_CUDA_ERROR_INVALID_VALUE;
	report_starts(where->graph, NODE_CONDITIONAL);
	n = node_add(where->graph, NODE_CONDITIONAL, NULL);
	if (!n || !(n->bodies = calloc(size, sizeof(*n->bodies))))
		return FAKE_CUDA_ERROR_OUT_OF_MEMORY;
	n->condition = type;
	n->value = (unsigned int)(handle - 1);
	n->body_count = size;
	for (unsigned int i = 0; i < size; i++)
		if (graph_create(&n->bodies[i]) != 0)
			return FAKE_CUDA_ERROR_OUT_OF_MEMORY;
	*where->node = n;
	*bodies = n->bodies;
	report_created(where->graph, n);
	return 0;
}

int graph_clone(struct fake_cuda_graph **clone, struct fake_cuda_graph *graph)
{
	if (!clone || !graph)
		return FAKE_CUDA_ERROR_INVALID_VALUE;
	*clone = copy_graph(graph);
	if (!*clone)
		return FAKE_CUDA_ERROR_OUT_OF_MEMORY;
	report_copied(*clone, graph);
	return 0;
}

int graph_destroy(struct fake_cuda_graph *graph)
{
	if (!graph)
		return FAKE_CUDA_ERROR_INVALID_VALUE;
	graph_free(graph, false);
	return 0;
}

/* ---- executable graphs ---- */

static uint64_t next_node_id(struct fake_cuda_graph *g)
{
	return (uint64_t)g->id << 32 | g->count++;
}

/* Nodes of a child take numbers of the graph that runs them, without callbacks. */
static void number_inlined(struct fake_cuda_graph *whole, struct fake_cuda_graph *child)
{
	for (struct fake_cuda_graph_node *n = child->first; n; n = n->next) {
		n->inlined_id = next_node_id(whole);
		if (n->child)
			number_inlined(whole, n->child);
	}
}

/* A node with no further callbacks. */
static void report_passing(struct fake_cuda_graph *graph, uint64_t id)
{
	struct fake_cuda_graph_node n = {.id = id, .type = NODE_EMPTY};

	report_new(graph, &n);
}

/*
 * The callbacks when a child replaces the node that held it, as measured: a node of a graph without
 * further callbacks, the end of the holding node, a node in its place; and if the child has more
 * than kernels, one of these is replaced too.
 */
static void report_inlined(struct fake_cuda_graph *g, struct fake_cuda_graph_node *holder)
{
	struct fake_cuda_graph passing = {.id = take_graph_id()};
	struct fake_cuda_graph_node *n = holder->child->first;

	report_passing(&passing, (uint64_t)passing.id << 32 | 1);
	report_destroy(g, holder);
	holder->reported_destroy = true;
	report_passing(g, next_node_id(g));
	while (n && n->type == NODE_KERNEL)
		n = n->next;
	if (n) {
		struct fake_cuda_graph_node inlined = {.id = n->inlined_id, .type = n->type};

		report_destroy(g, &inlined);
		report_passing(g, next_node_id(g));
	}
}

static void inline_children(struct fake_cuda_graph *g)
{
	struct fake_cuda_graph_node *n;

	for (n = g->first; n; n = n->next)
		if (n->child)
			number_inlined(g, n->child);
	for (n = g->first; n; n = n->next)
		if (n->child)
			report_inlined(g, n);
}

static bool has_conditionals(const struct fake_cuda_graph *g)
{
	const struct fake_cuda_graph_node *n = g->first;

	while (n && !n->bodies && !(n->child && has_conditionals(n->child)))
		n = n->next;
	return n != NULL;
}

/*
 * CUDA's second copy of a graph with conditional nodes, as measured: of its nodes the creation
 * starts, and only that of conditional ones ends.
 */
static void report_passing_copy(const struct fake_cuda_graph *g)
{
	struct fake_cuda_graph copy = {.id = take_graph_id()};

	report_graph(CUPTI_ABI_RESOURCE_GRAPH_CREATED, &copy);
	for (const struct fake_cuda_graph_node *n = g->first; n; n = n->next) {
		struct fake_cuda_graph_node passing = {.id = next_node_id(&copy), .type = n->type};

		report_starts(&copy, n->type);
		for (unsigned int i = 0; i < n->body_count; i++)
			report_passing_copy(n->bodies[i]);
		if (n->bodies)
			report_created(&copy, &passing);
	}
}

static void move_nodes(struct fake_cuda_graph *whole, struct fake_cuda_graph *body)
{
	struct fake_cuda_graph_node *n;

	report_graph(CUPTI_ABI_RESOURCE_GRAPH_DESTROY_STARTING, body);
	give_graph_id(body->id);
	body->id = 0;
	for (n = body->first; n; n = n->next) {
		n->id = next_node_id(whole);
		if (n->child)
			number_inlined(whole, n->child);
	}
	for (n = body->first; n; n = n->next)
		for (unsigned int i = 0; i < n->body_count; i++)
			move_nodes(whole, n->bodies[i]);
}

/*
 * Nodes of bodies become the executable graph's, which changes their ids without a callback; each
 * conditional node gets some more around it.
 */
static void move_bodies(struct fake_cuda_graph *g, struct fake_cuda_graph *from)
{
	for (struct fake_cuda_graph_node *n = from->first; n; n = n->next) {
		for (unsigned int i = 0; i < n->body_count; i++)
			move_nodes(g, n->bodies[i]);
		if (n->child)
			move_bodies(g, n->child);
	}
}

static void report_added(struct fake_cuda_graph *g)
{
	for (struct fake_cuda_graph_node *n = g->first; n; n = n->next)
		for (int i = 0; n->bodies && i < 2; i++)
			report_passing(g, next_node_id(g));
}

int graph_instantiate(struct fake_cuda_graph_exec **exec, struct fake_cuda_graph *graph)
{
	struct fake_cuda_graph_exec *e;

	if (!exec || !graph)
		return FAKE_CUDA_ERROR_INVALID_VALUE;
	e = calloc(1, sizeof(*e));
	if (!e)
		return FAKE_CUDA_ERROR_OUT_OF_MEMORY;
	e->graph = copy_graph(graph);
	if (!e->graph) {
		free(e);
		return FAKE_CUDA_ERROR_OUT_OF_MEMORY;
	}
	report_copied(e->graph, graph);
	if (has_conditionals(e->graph))
		report_passing_copy(e->graph);
	inline_children(e->graph);
	report_graph(CUPTI_ABI_RESOURCE_GRAPHEXEC_CREATE_STARTING, graph);
	move_bodies(e->graph, e->graph);
	report_added(e->graph);
	report_exec_created(graph, e);
	*exec = e;
	return 0;
}

static int compare(const struct fake_cuda_graph *a, const struct fake_cuda_graph *b)
{
	const struct fake_cuda_graph_node *n = a->first, *m = b->first;
	int result = UPDATE_SUCCESS;

	for (; n && m && !result; n = n->next, m = m->next) {
		if (n->type != m->type)
			result = UPDATE_NODE_TYPE_CHANGED;
		else if (n->child)
			result = compare(n->child, m->child);
	}
	if (!result && (n || m))
		result = UPDATE_TOPOLOGY_CHANGED;
	return result;
}

/* Replaces the work of the nodes, which keep their ids. */
static void assign(struct fake_cuda_graph *to, const struct fake_cuda_graph *from)
{
	const struct fake_cuda_graph_node *f = from->first;

	for (struct fake_cuda_graph_node *n = to->first; n; n = n->next, f = f->next) {
		n->work = f->work;
		if (n->child)
			assign(n->child, f->child);
	}
}

int graph_update(struct fake_cuda_graph_exec *exec, struct fake_cuda_graph *graph, int *result)
{
	if (!exec || !graph || !result)
		return FAKE_CUDA_ERROR_INVALID_VALUE;
	*result = compare(exec->graph, graph);
	if (*result)
		return FAKE_CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
	assign(exec->graph, graph);
	return 0;
}

int graph_exec_destroy(struct fake_cuda_graph_exec *exec)
{
	if (!exec)
		return FAKE_CUDA_ERROR_INVALID_VALUE;
	report_exec_destroy(exec);
	graph_free(exec->graph, false);
	free(exec);
	return 0;
}

static void run_nodes(const struct fake_cuda_graph *g, struct fake_cuda_stream *stream,
		      uint32_t graph_id, bool in_body, struct fake_cuda_activity *whole);

/* A value is the body's number, or how often it runs: kernels here cannot set it. */
static void run_bodies(const struct fake_cuda_graph_node *n, struct fake_cuda_stream *stream,
		       uint32_t graph_id, struct fake_cuda_activity *whole)
{
	unsigned int body = n->condition == CONDITION_SWITCH ? n->value
			    : n->condition == CONDITION_IF   ? n->value == 0
							     : 0;
	unsigned int times = n->condition == CONDITION_WHILE ? n->value : 1;

	for (; times > 0 && body < n->body_count; times--)
		run_nodes(n->bodies[body], stream, graph_id, true, whole);
}

/* `whole`: the launch's activity from its first to its last node. */
static void run_nodes(const struct fake_cuda_graph *g, struct fake_cuda_stream *stream,
		      uint32_t graph_id, bool in_body, struct fake_cuda_activity *whole)
{
	struct fake_cuda_activity activity;

	for (const struct fake_cuda_graph_node *n = g->first; n; n = n->next) {
		if (n->child)
			run_nodes(n->child, stream, graph_id, in_body, whole);
		if (n->bodies)
			run_bodies(n, stream, graph_id, whole);
		if (n->type > NODE_SET)
			continue;
		driver_run(stream, &n->work, graph_id, n->inlined_id ? n->inlined_id : n->id,
			   in_body, &activity);
		if (!whole->end) {
			*whole = activity;
			whole->type = FAKE_CUDA_GRAPH;
			whole->graph_node_id = 0;
			whole->in_body = false;
			whole->correlation_id = driver_correlation_id();
			gpu_follow(true);
		}
		whole->end = activity.end;
	}
}

/* Returns the bytes of its allocations, in whole pages; allocations that follow each other may
 * share pages. */
static uint64_t memory_of(const struct fake_cuda_graph *g)
{
	uint64_t bytes = 0;

	for (const struct fake_cuda_graph_node *n = g->first; n; n = n->next) {
		if (n->type == NODE_ALLOCATION)
			bytes +=
				(n->work.activity.bytes + GRAPH_PAGE - 1) / GRAPH_PAGE * GRAPH_PAGE;
		if (n->child)
			bytes += memory_of(n->child);
	}
	return bytes;
}

/* Behind the work, which so never waits for the records: a graph's time is that of its work. */
static void record_memory(const struct fake_cuda_graph *g)
{
	for (const struct fake_cuda_graph_node *n = g->first; n; n = n->next) {
		if (n->type == NODE_ALLOCATION || n->type == NODE_RELEASE)
			memory_record(n->work.activity.address, n->work.activity.bytes,
				      n->work.activity.operation);
		if (n->child)
			record_memory(n->child);
	}
}

int graph_run(struct fake_cuda_graph_exec *exec, struct fake_cuda_stream *stream)
{
	struct fake_cuda_activity whole = {0};

	if (!exec)
		return FAKE_CUDA_ERROR_INVALID_VALUE;
	if (*gpu_stream_capture(stream))
		return FAKE_CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	hold(gpu_place(gpu_stream_context(stream)).device_id, memory_of(exec->graph));
	run_nodes(exec->graph, stream, exec->graph->id, false, &whole);
	gpu_follow(false);
	record_memory(exec->graph);
	if (whole.end)
		driver_notify_activity(&whole);
	return 0;
}
