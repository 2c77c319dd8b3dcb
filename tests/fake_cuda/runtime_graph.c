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
	RUNTIME_CALL("cudaGraphInstantiate", FAKE_RT_cudaGraphInstantiate,
		     driver->graph_instantiate(exec, graph));
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
		     add_kernel(driver, &params.where, kernel));
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
		     add_copy(driver, &params.where, to, from, size, kind));
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
		     add_set(driver, &params.where, set));
}

CUDART_EXPORT cudaError_t cudaGraphAddChildGraphNode(NEW_NODE, cudaGraph_t child)
{
	struct {
		struct fake_cuda_new_node where;
		cudaGraph_t child;
	} params = {WHERE, child};
	RUNTIME_CALL("cudaGraphAddChildGraphNode", FAKE_RT_cudaGraphAddChildGraphNode,
		     driver->graph_add_child(&params.where, child));
}

CUDART_EXPORT cudaError_t cudaGraphClone(cudaGraph_t *clone, cudaGraph_t graph)
{
	struct {
		cudaGraph_t *clone;
		cudaGraph_t graph;
	} params = {clone, graph};
	RUNTIME_CALL("cudaGraphClone", FAKE_RT_cudaGraphClone, driver->graph_clone(clone, graph));
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
		     update(driver, exec, graph, info));
}
