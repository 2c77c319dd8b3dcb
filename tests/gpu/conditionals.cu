/* SPDX-License-Identifier: MIT */
/*
 * conditionals [LAUNCHES=10]: graphs with conditional nodes, whose conditions kernels set. Prints
 * "kernels N", how many kernels ran, and for each function that made nodes "made FUNCTION N", how
 * many kernels of these ran.
 *
 *	IF with two bodies, of which add_then's runs and add_else's does not; WHILE, three times
 *	add_step; SWITCH, of whose bodies add_case_1's runs; an IF of make_inner around add_inner in
 *	a WHILE that runs twice; and an IF whose body is captured in capture_body.
 */
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include "../workloads/gpu.h"

#if CUDART_VERSION >= 13000
#define ADD_NODE(node, graph, after, params) \
	cudaGraphAddNode(node, graph, after, nullptr, (after) ? 1 : 0, params)
#define CAPTURE_INFO(stream, status, graph, nodes, count) \
	cudaStreamGetCaptureInfo(stream, status, nullptr, graph, nodes, nullptr, count)
#define UPDATE_DEPENDENCIES(stream, node, flags) \
	cudaStreamUpdateCaptureDependencies(stream, node, nullptr, 1, flags)
#else
#define ADD_NODE(node, graph, after, params) \
	cudaGraphAddNode(node, graph, after, (after) ? 1 : 0, params)
#define CAPTURE_INFO(stream, status, graph, nodes, count) \
	cudaStreamGetCaptureInfo_v2(stream, status, nullptr, graph, nodes, count)
#define UPDATE_DEPENDENCIES(stream, node, flags) \
	cudaStreamUpdateCaptureDependencies(stream, node, 1, flags)
#endif

__global__ void work(long long cycles)
{
	long long start = clock64();

	while (clock64() - start < cycles)
		;
}

__global__ void set(cudaGraphConditionalHandle handle, unsigned int value)
{
	cudaGraphSetConditional(handle, value);
}

__global__ void begin(int *left, int times)
{
	*left = times;
}

__global__ void count_down(cudaGraphConditionalHandle handle, int *left)
{
	cudaGraphSetConditional(handle, --*left > 0);
}

static cudaStream_t stream;
static int *counters;
static int launches = 10;
static long kernels;

static cudaGraphNode_t add(cudaGraph_t graph, cudaGraphNode_t after, void *function, void **args)
{
	cudaKernelNodeParams params = {};
	cudaGraphNode_t node;

	params.func = function;
	params.gridDim = params.blockDim = dim3(1);
	params.kernelParams = args;
	GPU_CHECK(cudaGraphAddKernelNode(&node, graph, after ? &after : nullptr, after ? 1 : 0,
					 &params));
	return node;
}

static cudaGraphNode_t add_work(cudaGraph_t graph, cudaGraphNode_t after)
{
	long long cycles = 20000;
	void *args[] = {&cycles};

	return add(graph, after, (void *)work, args);
}

#define ADDS(name)                                                                     \
	NOINLINE static cudaGraphNode_t name(cudaGraph_t graph, cudaGraphNode_t after) \
	{                                                                              \
		return add_work(graph, add_work(graph, after));                        \
	}
ADDS(add_then)
ADDS(add_else)
ADDS(add_step)
ADDS(add_case_0)
ADDS(add_case_1)
ADDS(add_inner)

NOINLINE static cudaGraphNode_t add_set(cudaGraph_t graph, cudaGraphNode_t after,
					cudaGraphConditionalHandle handle, unsigned int value)
{
	void *args[] = {&handle, &value};

	return add(graph, after, (void *)set, args);
}

NOINLINE static cudaGraphNode_t add_begin(cudaGraph_t graph, cudaGraphNode_t after, int *left,
					  int times)
{
	void *args[] = {&left, &times};

	return add(graph, after, (void *)begin, args);
}

NOINLINE static void add_count_down(cudaGraph_t graph, cudaGraphNode_t after,
				    cudaGraphConditionalHandle handle, int *left)
{
	void *args[] = {&handle, &left};

	add(graph, after, (void *)count_down, args);
}

static cudaGraphConditionalHandle new_handle(cudaGraph_t graph, unsigned int value)
{
	cudaGraphConditionalHandle handle;

	GPU_CHECK(cudaGraphConditionalHandleCreate(&handle, graph, value,
						   cudaGraphCondAssignDefault));
	return handle;
}

static cudaGraph_t *add_conditional(cudaGraph_t graph, cudaGraphNode_t *node, cudaGraphNode_t after,
				    cudaGraphConditionalHandle handle,
				    enum cudaGraphConditionalNodeType type, unsigned int size)
{
	cudaGraphNodeParams params = {};

	params.type = cudaGraphNodeTypeConditional;
	params.conditional.handle = handle;
	params.conditional.type = type;
	params.conditional.size = size;
	GPU_CHECK(ADD_NODE(node, graph, after ? &after : nullptr, &params));
	return params.conditional.phGraph_out;
}

NOINLINE static cudaGraph_t *make_condition(cudaGraph_t graph, cudaGraphNode_t after,
					    cudaGraphConditionalHandle handle,
					    enum cudaGraphConditionalNodeType type,
					    unsigned int size)
{
	cudaGraphNode_t node;

	return add_conditional(graph, &node, after, handle, type, size);
}

NOINLINE static cudaGraph_t *make_inner(cudaGraph_t graph, cudaGraphNode_t *node,
					cudaGraphNode_t after, cudaGraphConditionalHandle handle)
{
	return add_conditional(graph, node, after, handle, cudaGraphCondTypeIf, 1);
}

NOINLINE static void launch(cudaGraph_t graph)
{
	cudaGraphExec_t exec;

	GPU_CHECK(cudaGraphInstantiate(&exec, graph, 0));
	GPU_CHECK(cudaGraphDestroy(graph));
	for (int i = 0; i < launches; i++)
		GPU_CHECK(cudaGraphLaunch(exec, stream));
	GPU_CHECK(cudaStreamSynchronize(stream));
	GPU_CHECK(cudaGraphExecDestroy(exec));
}

static cudaGraph_t new_graph()
{
	cudaGraph_t graph;

	GPU_CHECK(cudaGraphCreate(&graph, 0));
	return graph;
}

static void made(const char *function, int each)
{
	printf("made %s %d\n", function, each * launches);
	kernels += (long)each * launches;
}

static void run_if()
{
	cudaGraph_t graph = new_graph();
	cudaGraphConditionalHandle handle = new_handle(graph, 0);
	cudaGraph_t *bodies = make_condition(graph, add_set(graph, nullptr, handle, 1), handle,
					     cudaGraphCondTypeIf, CUDART_VERSION >= 12080 ? 2 : 1);

	add_then(bodies[0], nullptr);
	if (CUDART_VERSION >= 12080)
		add_else(bodies[1], nullptr);
	launch(graph);
	made("add_set", 1);
	made("add_then", 2);
}

static void run_while()
{
	cudaGraph_t graph = new_graph();
	cudaGraphConditionalHandle handle = new_handle(graph, 1);
	cudaGraph_t *body = make_condition(graph, add_begin(graph, nullptr, counters, 3), handle,
					   cudaGraphCondTypeWhile, 1);

	add_count_down(body[0], add_step(body[0], nullptr), handle, counters);
	launch(graph);
	made("add_begin", 1);
	made("add_step", 6);
	made("add_count_down", 3);
}

static void run_switch()
{
	cudaGraph_t graph;
	cudaGraphConditionalHandle handle;
	cudaGraph_t *bodies;

	if (CUDART_VERSION < 12080)
		return;
	graph = new_graph();
	handle = new_handle(graph, 0);
	bodies = make_condition(graph, add_set(graph, nullptr, handle, 1), handle,
				(enum cudaGraphConditionalNodeType)2 /* SWITCH */, 2);
	add_case_0(bodies[0], nullptr);
	add_case_1(bodies[1], nullptr);
	launch(graph);
	made("add_set", 1);
	made("add_case_1", 2);
}

static void run_nested()
{
	cudaGraph_t graph = new_graph(), *body;
	cudaGraphConditionalHandle outer = new_handle(graph, 1);
	cudaGraphNode_t node;

	body = make_condition(graph, add_begin(graph, nullptr, counters + 1, 2), outer,
			      cudaGraphCondTypeWhile, 1);
	add_inner(make_inner(body[0], &node, add_step(body[0], nullptr), new_handle(body[0], 1))[0],
		  nullptr);
	add_count_down(body[0], node, outer, counters + 1);
	launch(graph);
	made("add_begin", 1);
	made("add_step", 4);
	made("add_inner", 4);
	made("add_count_down", 2);
}

NOINLINE static void capture_body(cudaStream_t to)
{
	work<<<1, 1, 0, to>>>(20000);
	work<<<1, 1, 0, to>>>(20000);
}

NOINLINE static void capture_around()
{
	work<<<1, 1, 0, stream>>>(20000);
}

static void run_captured()
{
	enum cudaStreamCaptureStatus status;
	const cudaGraphNode_t *before;
	cudaGraph_t graph, same, *body;
	cudaGraphNode_t node;
	cudaStream_t second;
	size_t count;

	GPU_CHECK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
	GPU_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
	capture_around();
	GPU_CHECK(CAPTURE_INFO(stream, &status, &graph, &before, &count));
	body = make_inner(graph, &node, before[0], new_handle(graph, 1));
	GPU_CHECK(UPDATE_DEPENDENCIES(stream, &node, cudaStreamSetCaptureDependencies));
	GPU_CHECK(cudaStreamBeginCaptureToGraph(second, body[0], nullptr, nullptr, 0,
						cudaStreamCaptureModeThreadLocal));
	capture_body(second);
	GPU_CHECK(cudaStreamEndCapture(second, &same));
	capture_around();
	GPU_CHECK(cudaStreamEndCapture(stream, &graph));
	launch(graph);
	GPU_CHECK(cudaStreamDestroy(second));
	made("capture_around", 2);
	made("capture_body", 2);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		launches = atoi(argv[1]);
	GPU_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	GPU_CHECK(cudaMalloc(&counters, 2 * sizeof(*counters)));
	run_if();
	run_while();
	run_switch();
	run_nested();
	run_captured();
	printf("kernels %ld\n", kernels);
	return 0;
}
