/* SPDX-License-Identifier: MIT */
/*
 * Graphs of the fake driver: a straight line of kernel nodes, made by stream capture.
 *
 * An executable graph has its own graph id and its own node ids (the captured nodes' clones), as
 * in CUDA, and those are what kernel records carry.
 */
#include "driver.h"
#include "cbid.h"

#include <pthread.h>
#include <stdlib.h>

struct graph_node {
	uint64_t id; /* first: fake_cuda_graph_data's readers take it from here */
	struct gpu_work work;
	struct graph_node *next;
};

struct node_list {
	uint32_t graph_id, count;
	struct graph_node *first, **end;
};

struct fake_cuda_graph {
	uint32_t id;
	bool broken; /* ran out of memory while capturing */
	struct node_list nodes;
};

struct fake_cuda_graph_exec {
	uint32_t id;
	struct node_list nodes;
};

static uint32_t next_graph_id = 1;

static void list_init(struct node_list *l, uint32_t graph_id)
{
	l->graph_id = graph_id;
	l->count = 0;
	l->first = NULL;
	l->end = &l->first;
}

static void list_free(struct node_list *l)
{
	while (l->first) {
		struct graph_node *n = l->first;

		l->first = n->next;
		free(n);
	}
}

static struct graph_node *list_add(struct node_list *l, const struct gpu_work *work)
{
	struct graph_node *n = calloc(1, sizeof(*n));

	if (!n)
		return NULL;
	n->id = (uint64_t)l->graph_id << 32 | l->count++; /* as CUPTI's are made up */
	n->work = *work;
	*l->end = n;
	l->end = &n->next;
	return n;
}

static uint32_t new_graph_id(void)
{
	return __atomic_fetch_add(&next_graph_id, 1, __ATOMIC_RELAXED);
}

int graph_capture_begin(struct fake_cuda_stream *stream)
{
	struct fake_cuda_stream *s = gpu_stream(stream, false);
	struct fake_cuda_graph *g;

	if (!s)
		return FAKE_CUDA_ERROR_INVALID_HANDLE;
	if (gpu_stream_is_legacy(s))
		return FAKE_CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	if (*gpu_stream_capture(s))
		return FAKE_CUDA_ERROR_ILLEGAL_STATE;
	g = calloc(1, sizeof(*g));
	if (!g)
		return FAKE_CUDA_ERROR_OUT_OF_MEMORY;
	g->id = new_graph_id();
	list_init(&g->nodes, g->id);
	*gpu_stream_capture(s) = g;
	return 0;
}

int graph_capture_work(struct fake_cuda_graph *graph, const struct gpu_work *work)
{
	struct graph_node *n = list_add(&graph->nodes, work);
	struct fake_cuda_graph_data data = {.graph = graph, .node = n};

	if (n)
		driver_notify_resource(FAKE_RESOURCE_GRAPHNODE_CREATED, gpu_current(), NULL, &data);
	else
		graph->broken = true;
	return 0;
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

int graph_instantiate(struct fake_cuda_graph_exec **exec, struct fake_cuda_graph *graph)
{
	struct fake_cuda_graph_data data = {.original_graph = graph};
	struct fake_cuda_graph_exec *e;

	if (!exec || !graph)
		return FAKE_CUDA_ERROR_INVALID_VALUE;
	e = calloc(1, sizeof(*e));
	if (!e)
		return FAKE_CUDA_ERROR_OUT_OF_MEMORY;
	e->id = new_graph_id();
	list_init(&e->nodes, e->id);
	for (struct graph_node *n = graph->nodes.first; n; n = n->next) {
		data.graph = e;
		data.original_node = n;
		data.node = list_add(&e->nodes, &n->work);
		if (!data.node) {
			graph_exec_destroy(e);
			return FAKE_CUDA_ERROR_OUT_OF_MEMORY;
		}
		driver_notify_resource(FAKE_RESOURCE_GRAPHNODE_CLONED, gpu_current(), NULL, &data);
	}
	data = (struct fake_cuda_graph_data){.graph = graph, .graph_exec = e};
	driver_notify_resource(FAKE_RESOURCE_GRAPHEXEC_CREATED, gpu_current(), NULL, &data);
	*exec = e;
	return 0;
}

int graph_destroy(struct fake_cuda_graph *graph)
{
	if (!graph)
		return FAKE_CUDA_ERROR_INVALID_VALUE;
	list_free(&graph->nodes);
	free(graph);
	return 0;
}

int graph_exec_destroy(struct fake_cuda_graph_exec *exec)
{
	if (!exec)
		return FAKE_CUDA_ERROR_INVALID_VALUE;
	list_free(&exec->nodes);
	free(exec);
	return 0;
}

int graph_run(struct fake_cuda_graph_exec *exec, struct fake_cuda_stream *stream)
{
	struct fake_cuda_activity activity;

	if (!exec)
		return FAKE_CUDA_ERROR_INVALID_VALUE;
	if (*gpu_stream_capture(stream))
		return FAKE_CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	for (const struct graph_node *n = exec->nodes.first; n; n = n->next) {
		driver_run(stream, &n->work, exec->id, n->id, &activity);
	}
	return 0;
}
