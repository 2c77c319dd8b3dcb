/* SPDX-License-Identifier: MIT */
/*
 * Graphs of the fake driver: nodes in the order in which they were added, which is the order in
 * which they run. Every function returns a CUresult unless noted.
 */
#ifndef TESTS_FAKE_CUDA_GRAPH_H
#define TESTS_FAKE_CUDA_GRAPH_H

#include "memory.h"

int graph_capture_begin(struct fake_cuda_stream *stream);
/* To a graph that exists, which stays the caller's. */
int graph_capture_begin_to(struct fake_cuda_stream *stream, struct fake_cuda_graph *graph);
int graph_captured(struct fake_cuda_stream *stream, struct fake_cuda_graph **graph);
int graph_capture_end(struct fake_cuda_stream *stream, struct fake_cuda_graph **graph);
/* To the graph that a stream captures. */
int graph_capture_work(struct fake_cuda_graph *graph, const struct gpu_work *work);
/* An allocation, whose address is valid from now on, or a release. */
int graph_capture_allocation(struct fake_cuda_graph *graph, void **address, size_t size);
int graph_capture_release(struct fake_cuda_graph *graph, void *address);

int graph_create(struct fake_cuda_graph **graph);
int graph_add_kernel(const struct fake_cuda_new_node *where,
		     const struct fake_cuda_launch_config *config, struct fake_cuda_function *f,
		     void **params);
int graph_add_copy(const struct fake_cuda_new_node *where, void *to, const void *from, size_t size,
		   int to_side, int from_side);
int graph_add_set(const struct fake_cuda_new_node *where, const struct fake_cuda_set_2d *set);
int graph_add_child(const struct fake_cuda_new_node *where, struct fake_cuda_graph *child);
/* The condition of a conditional node; its value is a count, see README.md. */
int graph_condition(uint64_t *handle, struct fake_cuda_graph *graph, unsigned int value);
int graph_add_conditional(const struct fake_cuda_new_node *where, uint64_t handle, int type,
			  unsigned int size, struct fake_cuda_graph ***bodies);
int graph_clone(struct fake_cuda_graph **clone, struct fake_cuda_graph *graph);
int graph_destroy(struct fake_cuda_graph *graph);

int graph_instantiate(struct fake_cuda_graph_exec **exec, struct fake_cuda_graph *graph);
/* `result`: cudaGraphExecUpdateResult; the call fails unless it is 0. */
int graph_update(struct fake_cuda_graph_exec *exec, struct fake_cuda_graph *graph, int *result);
int graph_exec_destroy(struct fake_cuda_graph_exec *exec);
/* Memory that is held for graphs on a device, now or at most; and what no graph runs with. */
uint64_t graph_memory_held(uint32_t device, bool most);
void graph_memory_trim(uint32_t device);
int graph_run(struct fake_cuda_graph_exec *exec, struct fake_cuda_stream *stream);

#endif
