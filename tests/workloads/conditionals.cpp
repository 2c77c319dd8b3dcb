/* SPDX-License-Identifier: MIT */
/*
 * conditionals [MODE=all] [LAUNCHES=3]: graphs with conditional nodes. Each mode prints, as "MODE
 * FUNCTION N", how many kernels ran whose nodes were made in that function, and runs no others; the
 * functions that make conditional nodes are between those that launch the graph and these.
 *
 *	if		IF with two bodies: the first runs, of nodes made in add_then; add_else's
 *never while		WHILE: three times what add_step makes
 *	switch		SWITCH: the second of three, made in add_case_1
 *	nested		WHILE twice around IF, which make_inner makes, around add_inner's nodes
 *	captured	captured before, in and behind the body: capture_before, capture_body,
 *capture_behind only		a graph with nothing but an IF
 *	two		two executable graphs of one graph, launched in turn by launch_first and
 *launch_second all		one after another
 *
 * For the stand-ins: a handle's value is what the node does, see tests/fake_cuda/README.md.
 */
#include "gpu.h"

#include <string.h>

enum { KERNEL_NS = 2000, BEFORE = 1, BODY = 2 };

GPU_KERNEL(body_kernel)

static cudaStream_t stream;
static int launches = 3;

NOINLINE static void add_kernels(cudaGraph_t graph, int n)
{
	struct cudaKernelNodeParams params = {};
	gpu_ns ns = KERNEL_NS;
	void *args[] = {&ns};
	cudaGraphNode_t node;

	GPU_REGISTER(body_kernel);
	params.func = (void *)static_cast<gpu_kernel_fn>(body_kernel);
	params.gridDim = dim3(1);
	params.blockDim = dim3(1);
	params.kernelParams = args;
	for (int i = 0; i < n; i++)
		GPU_CHECK(cudaGraphAddKernelNode(&node, graph, nullptr, 0, &params));
}

#define ADDS(name)                                          \
	NOINLINE static void name(cudaGraph_t graph, int n) \
	{                                                   \
		add_kernels(graph, n);                      \
	}
ADDS(add_before)
ADDS(add_then)
ADDS(add_else)
ADDS(add_step)
ADDS(add_case_0)
ADDS(add_case_1)
ADDS(add_case_2)
ADDS(add_inner)

/* The bodies. */
static cudaGraph_t *add_conditional(cudaGraph_t graph, enum cudaGraphConditionalNodeType type,
				    unsigned int size, unsigned int value)
{
	struct cudaGraphNodeParams params = {};
	cudaGraphConditionalHandle handle;
	cudaGraphNode_t node;

	GPU_CHECK(cudaGraphConditionalHandleCreate(&handle, graph, value,
						   cudaGraphCondAssignDefault));
	params.type = cudaGraphNodeTypeConditional;
	params.conditional.handle = handle;
	params.conditional.type = type;
	params.conditional.size = size;
	GPU_CHECK(cudaGraphAddNode(&node, graph, nullptr, nullptr, 0, &params));
	return params.conditional.phGraph_out;
}

NOINLINE static cudaGraph_t *make_condition(cudaGraph_t graph,
					    enum cudaGraphConditionalNodeType type,
					    unsigned int size, unsigned int value)
{
	return add_conditional(graph, type, size, value);
}

NOINLINE static cudaGraph_t *make_inner(cudaGraph_t graph)
{
	return add_conditional(graph, cudaGraphCondTypeIf, 1, 1);
}

NOINLINE static void launch(cudaGraphExec_t exec)
{
	for (int i = 0; i < launches; i++)
		GPU_CHECK(cudaGraphLaunch(exec, stream));
	GPU_CHECK(cudaStreamSynchronize(stream));
}

static void run(cudaGraph_t graph)
{
	cudaGraphExec_t exec;

	GPU_CHECK(cudaGraphInstantiate(&exec, graph, 0));
	GPU_CHECK(cudaGraphDestroy(graph));
	launch(exec);
	GPU_CHECK(cudaGraphExecDestroy(exec));
}

static cudaGraph_t new_graph(int before)
{
	cudaGraph_t graph;

	GPU_CHECK(cudaGraphCreate(&graph, 0));
	add_before(graph, before);
	return graph;
}

static void run_if()
{
	cudaGraph_t graph = new_graph(BEFORE);
	cudaGraph_t *bodies = make_condition(graph, cudaGraphCondTypeIf, 2, 1);

	add_then(bodies[0], BODY);
	add_else(bodies[1], BODY);
	run(graph);
	printf("if add_before %d\nif add_then %d\n", BEFORE * launches, BODY * launches);
}

static void run_while()
{
	cudaGraph_t graph = new_graph(BEFORE);

	add_step(make_condition(graph, cudaGraphCondTypeWhile, 1, 3)[0], BODY);
	run(graph);
	printf("while add_before %d\nwhile add_step %d\n", BEFORE * launches, 3 * BODY * launches);
}

static void run_switch()
{
	cudaGraph_t graph = new_graph(BEFORE);
	cudaGraph_t *bodies = make_condition(graph, cudaGraphCondTypeSwitch, 3, 1);

	add_case_0(bodies[0], BODY);
	add_case_1(bodies[1], BODY);
	add_case_2(bodies[2], BODY);
	run(graph);
	printf("switch add_before %d\nswitch add_case_1 %d\n", BEFORE * launches, BODY * launches);
}

static void run_nested()
{
	cudaGraph_t graph = new_graph(BEFORE);
	cudaGraph_t *outer = make_condition(graph, cudaGraphCondTypeWhile, 1, 2);

	add_step(outer[0], BODY);
	add_inner(make_inner(outer[0])[0], BODY);
	run(graph);
	printf("nested add_before %d\nnested add_step %d\nnested add_inner %d\n", BEFORE * launches,
	       2 * BODY * launches, 2 * BODY * launches);
}

#define CAPTURES(name)                                                     \
	NOINLINE static void name(cudaStream_t to, int n)                  \
	{                                                                  \
		for (int i = 0; i < n; i++)                                \
			GPU_CHECK(GPU_LAUNCH(to, KERNEL_NS, body_kernel)); \
	}
CAPTURES(capture_before)
CAPTURES(capture_body)
CAPTURES(capture_behind)

/* A second stream captures the body while the first captures the graph around it. */
static void run_captured()
{
	enum cudaStreamCaptureStatus status;
	cudaGraph_t graph, body, same;
	cudaStream_t second;

	GPU_CHECK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
	GPU_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
	capture_before(stream, BEFORE);
	GPU_CHECK(cudaStreamGetCaptureInfo(stream, &status, nullptr, &graph, nullptr, nullptr,
					   nullptr));
	body = make_condition(graph, cudaGraphCondTypeIf, 1, 1)[0];
	GPU_CHECK(cudaStreamUpdateCaptureDependencies(stream, nullptr, nullptr, 0, 1));
	GPU_CHECK(cudaStreamBeginCaptureToGraph(second, body, nullptr, nullptr, 0,
						cudaStreamCaptureModeThreadLocal));
	capture_body(second, BODY);
	GPU_CHECK(cudaStreamEndCapture(second, &same));
	capture_behind(stream, BEFORE);
	GPU_CHECK(cudaStreamEndCapture(stream, &graph));
	run(graph);
	GPU_CHECK(cudaStreamDestroy(second));
	printf("captured capture_before %d\ncaptured capture_body %d\ncaptured capture_behind %d\n",
	       BEFORE * launches, BODY * launches, BEFORE * launches);
}

static void run_only()
{
	cudaGraph_t graph = new_graph(0);

	add_then(make_condition(graph, cudaGraphCondTypeIf, 1, 1)[0], BODY);
	run(graph);
	printf("only add_then %d\n", BODY * launches);
}

NOINLINE static void launch_first(cudaGraphExec_t exec)
{
	GPU_CHECK(cudaGraphLaunch(exec, stream));
	GPU_CHECK(cudaStreamSynchronize(stream));
}

NOINLINE static void launch_second(cudaGraphExec_t exec)
{
	GPU_CHECK(cudaGraphLaunch(exec, stream));
	GPU_CHECK(cudaStreamSynchronize(stream));
}

static void run_two()
{
	cudaGraph_t graph = new_graph(0);
	cudaGraphExec_t first, second;

	add_then(make_condition(graph, cudaGraphCondTypeWhile, 1, 3)[0], BODY);
	GPU_CHECK(cudaGraphInstantiate(&first, graph, 0));
	GPU_CHECK(cudaGraphInstantiate(&second, graph, 0));
	GPU_CHECK(cudaGraphDestroy(graph));
	for (int i = 0; i < launches; i++) {
		launch_first(first);
		launch_second(second);
		launch_second(second);
	}
	GPU_CHECK(cudaGraphExecDestroy(first));
	GPU_CHECK(cudaGraphExecDestroy(second));
	printf("two add_then %d\n", 3 * 3 * BODY * launches);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)();
	} modes[] = {{"if", run_if},         {"while", run_while},       {"switch", run_switch},
		     {"nested", run_nested}, {"captured", run_captured}, {"only", run_only},
		     {"two", run_two}};
	const char *mode = argc > 1 ? argv[1] : "all";

	if (argc > 2)
		launches = atoi(argv[2]);
	GPU_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	for (const auto &m : modes)
		if (strcmp(mode, m.name) == 0 || strcmp(mode, "all") == 0)
			m.run();
	return 0;
}
