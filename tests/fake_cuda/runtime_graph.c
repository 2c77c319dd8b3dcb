/* SPDX-License-Identifier: MIT */
/* Graphs in the fake runtime: captured, built by hand, and executable; launches are elsewhere. */
#include "runtime.h"
#include "cbid.h"

CUDART_EXPORT cudaError_t cudaStreamBeginCapture(cudaStream_t stream,
						 enum cudaStreamCaptureMode mode)
{
	struct {
		cudaStream_t stream;
		enum cudaStreamCaptureMode mode;
	} params = {stream, mode};
	RUNTIME_CALL("cudaStreamBeginCapture", FAKE_RT_cudaStreamBeginCapture,
		     driver->capture_begin(stream));
}

CUDART_EXPORT cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
	struct {
		cudaStream_t stream;
		cudaGraph_t *graph;
	} params = {stream, graph};
	RUNTIME_CALL("cudaStreamEndCapture", FAKE_RT_cudaStreamEndCapture,
		     driver->capture_end(stream, graph));
}

CUDART_EXPORT cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph,
					       unsigned long long flags)
{
	struct {
		cudaGraphExec_t *exec;
		cudaGraph_t graph;
		unsigned long long flags;
	} params = {exec, graph, flags};
	RUNTIME_CALL(
		"cudaGraphInstantiate", FAKE_RT_cudaGraphInstantiate,
		IN_DRIVER(cuGraphInstantiateWithFlags, driver->graph_instantiate(exec, graph)));
}

CUDART_EXPORT cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
	struct {
		cudaGraph_t graph;
	} params = {graph};
	RUNTIME_CALL("cudaGraphDestroy", FAKE_RT_cudaGraphDestroy, driver->graph_destroy(graph));
}

CUDART_EXPORT cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec)
{
	struct {
		cudaGraphExec_t exec;
	} params = {exec};
	RUNTIME_CALL("cudaGraphExecDestroy", FAKE_RT_cudaGraphExecDestroy,
		     driver->graph_exec_destroy(exec));
}

CUDART_EXPORT cudaError_t cudaGraphCreate(cudaGraph_t *graph, unsigned int flags)
{
	struct {
		cudaGraph_t *graph;
		unsigned int flags;
	} params = {graph, flags};
	RUNTIME_CALL("cudaGraphCreate", FAKE_RT_cudaGraphCreate,
		     flags ? cudaErrorInvalidValue : driver->graph_create(graph));
}

/* The first parameters of all calls that add a node. */
#define NEW_NODE \
	cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies, size_t count
#define WHERE                                    \
	{                                        \
		node, graph, dependencies, count \
	}

static cudaError_t add_kernel(const struct fake_cuda_driver *driver,
			      const struct fake_cuda_new_node *where,
			      const struct cudaKernelNodeParams *kernel)
{
	struct fake_cuda_launch_config config;
	struct fake_cuda_function *f;
	cudaError_t err;

	if (!kernel)
		return cudaErrorInvalidValue;
	err = runtime_function(driver, kernel->func, &f);
	if (err)
		return err;
	config = (struct fake_cuda_launch_config){
		.grid = {kernel->gridDim.x, kernel->gridDim.y, kernel->gridDim.z},
		.block = {kernel->blockDim.x, kernel->blockDim.y, kernel->blockDim.z},
		.shared_memory = kernel->sharedMemBytes,
	};
	return driver->graph_add_kernel(where, &config, f, kernel->kernelParams);
}

CUDART_EXPORT cudaError_t cudaGraphAddKernelNode(NEW_NODE,
						 const struct cudaKernelNodeParams *kernel)
{
	struct {
		struct fake_cuda_new_node where;
		const struct cudaKernelNodeParams *kernel;
	} params = {WHERE, kernel};
	RUNTIME_CALL("cudaGraphAddKernelNode", FAKE_RT_cudaGraphAddKernelNode,
		     IN_DRIVER(cuGraphAddKernelNode_v2, add_kernel(driver, &params.where, kernel)));
}

static cudaError_t add_copy(const struct fake_cuda_driver *driver,
			    const struct fake_cuda_new_node *where, void *to, const void *from,
			    size_t size, enum cudaMemcpyKind kind)
{
	enum { EITHER, HOST, DEVICE };
	static const int sides[][2] = {
		{HOST, HOST}, {DEVICE, HOST}, {HOST, DEVICE}, {DEVICE, DEVICE}, {EITHER, EITHER}};

	if ((unsigned int)kind > cudaMemcpyDefault)
		return cudaErrorInvalidMemcpyDirection;
	return driver->graph_add_copy(where, to, from, size, sides[kind][0], sides[kind][1]);
}

CUDART_EXPORT cudaError_t cudaGraphAddMemcpyNode1D(NEW_NODE, void *to, const void *from,
						   size_t size, enum cudaMemcpyKind kind)
{
	struct {
		struct fake_cuda_new_node where;
		void *to;
		const void *from;
		size_t size;
		enum cudaMemcpyKind kind;
	} params = {WHERE, to, from, size, kind};
	RUNTIME_CALL("cudaGraphAddMemcpyNode1D", FAKE_RT_cudaGraphAddMemcpyNode1D,
		     IN_DRIVER(cuGraphAddMemcpyNode,
			       add_copy(driver, &params.where, to, from, size, kind)));
}

static cudaError_t add_set(const struct fake_cuda_driver *driver,
			   const struct fake_cuda_new_node *where,
			   const struct cudaMemsetParams *set)
{
	if (!set)
		return cudaErrorInvalidValue;
	return driver->graph_add_set(where, &(struct fake_cuda_set_2d){set->dst, set->pitch,
								       set->value, set->elementSize,
								       set->width, set->height});
}

CUDART_EXPORT cudaError_t cudaGraphAddMemsetNode(NEW_NODE, const struct cudaMemsetParams *set)
{
	struct {
		struct fake_cuda_new_node where;
		const struct cudaMemsetParams *set;
	} params = {WHERE, set};
	RUNTIME_CALL("cudaGraphAddMemsetNode", FAKE_RT_cudaGraphAddMemsetNode,
		     IN_DRIVER(cuGraphAddMemsetNode, add_set(driver, &params.where, set)));
}

CUDART_EXPORT cudaError_t cudaGraphAddChildGraphNode(NEW_NODE, cudaGraph_t child)
{
	struct {
		struct fake_cuda_new_node where;
		cudaGraph_t child;
	} params = {WHERE, child};
	RUNTIME_CALL(
		"cudaGraphAddChildGraphNode", FAKE_RT_cudaGraphAddChildGraphNode,
		IN_DRIVER(cuGraphAddChildGraphNode, driver->graph_add_child(&params.where, child)));
}

CUDART_EXPORT cudaError_t cudaGraphConditionalHandleCreate(cudaGraphConditionalHandle *handle,
							   cudaGraph_t graph, unsigned int value,
							   unsigned int flags)
{
	uint64_t made = 0;
	struct {
		cudaGraphConditionalHandle *handle;
		cudaGraph_t graph;
		unsigned int value, flags;
	} params = {handle, graph, value, flags};
	RUNTIME_CALL("cudaGraphConditionalHandleCreate", FAKE_RT_cudaGraphConditionalHandleCreate,
		     !handle ? cudaErrorInvalidValue
			     : driver->graph_condition(&made, graph,
						       flags == cudaGraphCondAssignDefault ? value
											   : 0) ||
				       !(*handle = made));
}

static cudaError_t add_node(const struct fake_cuda_driver *driver,
			    const struct fake_cuda_new_node *where,
			    struct cudaGraphNodeParams *node)
{
	if (!node || node->type != cudaGraphNodeTypeConditional)
		return cudaErrorInvalidValue; /* other kinds have calls of their own here */
	return driver->graph_add_conditional(where, node->conditional.handle,
					     (int)node->conditional.type, node->conditional.size,
					     &node->conditional.phGraph_out);
}

CUDART_EXPORT cudaError_t cudaGraphAddNode(cudaGraphNode_t *node, cudaGraph_t graph,
					   const cudaGraphNode_t *dependencies,
					   const cudaGraphEdgeData *edges, size_t count,
					   struct cudaGraphNodeParams *node_params)
{
	const struct fake_cuda_new_node where = WHERE;
	struct {
		cudaGraphNode_t *node;
		cudaGraph_t graph;
		const cudaGraphNode_t *dependencies;
		const cudaGraphEdgeData *edges;
		size_t count;
		struct cudaGraphNodeParams *node_params;
	} params = {node, graph, dependencies, edges, count, node_params};
	RUNTIME_CALL("cudaGraphAddNode", FAKE_RT_cudaGraphAddNode,
		     IN_DRIVER(cuGraphAddNode_v2, add_node(driver, &where, node_params)));
}

CUDART_EXPORT cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph,
							const cudaGraphNode_t *dependencies,
							const cudaGraphEdgeData *edges,
							size_t count,
							enum cudaStreamCaptureMode mode)
{
	struct {
		cudaStream_t stream;
		cudaGraph_t graph;
		const cudaGraphNode_t *dependencies;
		const cudaGraphEdgeData *edges;
		size_t count;
		enum cudaStreamCaptureMode mode;
	} params = {stream, graph, dependencies, edges, count, mode};
	RUNTIME_CALL("cudaStreamBeginCaptureToGraph", FAKE_RT_cudaStreamBeginCaptureToGraph,
		     driver->capture_begin_to(stream, graph));
}

/* Without dependencies: nodes run in the order in which they are added. */
static cudaError_t capture_info(const struct fake_cuda_driver *driver, cudaStream_t stream,
				enum cudaStreamCaptureStatus *status, cudaGraph_t *graph,
				size_t *count)
{
	cudaGraph_t captured = NULL;
	cudaError_t err = driver->capture_graph(stream, &captured);

	if (err || !status)
		return err ? err : cudaErrorInvalidValue;
	*status = captured ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
	if (graph)
		*graph = captured;
	if (count)
		*count = 0;
	return cudaSuccess;
}

CUDART_EXPORT cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream,
						   enum cudaStreamCaptureStatus *status,
						   unsigned long long *id, cudaGraph_t *graph,
						   const cudaGraphNode_t **dependencies,
						   const cudaGraphEdgeData **edges, size_t *count)
{
	struct {
		cudaStream_t stream;
		enum cudaStreamCaptureStatus *status;
		unsigned long long *id;
		cudaGraph_t *graph;
		const cudaGraphNode_t **dependencies;
		const cudaGraphEdgeData **edges;
		size_t *count;
	} params = {stream, status, id, graph, dependencies, edges, count};
	RUNTIME_CALL("cudaStreamGetCaptureInfo", FAKE_RT_cudaStreamGetCaptureInfo,
		     capture_info(driver, stream, status, graph, count));
}

CUDART_EXPORT cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream,
							      cudaGraphNode_t *dependencies,
							      const cudaGraphEdgeData *edges,
							      size_t count, unsigned int flags)
{
	cudaGraph_t captured;
	struct {
		cudaStream_t stream;
		cudaGraphNode_t *dependencies;
		const cudaGraphEdgeData *edges;
		size_t count;
		unsigned int flags;
	} params = {stream, dependencies, edges, count, flags};
	RUNTIME_CALL("cudaStreamUpdateCaptureDependencies",
		     FAKE_RT_cudaStreamUpdateCaptureDependencies,
		     driver->capture_graph(stream, &captured));
}

CUDART_EXPORT cudaError_t cudaGraphClone(cudaGraph_t *clone, cudaGraph_t graph)
{
	struct {
		cudaGraph_t *clone;
		cudaGraph_t graph;
	} params = {clone, graph};
	RUNTIME_CALL("cudaGraphClone", FAKE_RT_cudaGraphClone,
		     IN_DRIVER(cuGraphClone, driver->graph_clone(clone, graph)));
}

static cudaError_t update(const struct fake_cuda_driver *driver, cudaGraphExec_t exec,
			  cudaGraph_t graph, cudaGraphExecUpdateResultInfo *info)
{
	int result = 0;
	cudaError_t err = driver->graph_update(exec, graph, &result);

	if (info) {
		*info = (cudaGraphExecUpdateResultInfo){0};
		info->result = (enum cudaGraphExecUpdateResult)result;
	}
	return err;
}

CUDART_EXPORT cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph,
					      cudaGraphExecUpdateResultInfo *info)
{
	struct {
		cudaGraphExec_t exec;
		cudaGraph_t graph;
		cudaGraphExecUpdateResultInfo *info;
	} params = {exec, graph, info};
	RUNTIME_CALL("cudaGraphExecUpdate", FAKE_RT_cudaGraphExecUpdate,
		     IN_DRIVER(cuGraphExecUpdate_v2, update(driver, exec, graph, info)));
}
