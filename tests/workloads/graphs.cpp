/* SPDX-License-Identifier: MIT */
/*
 * graphs [MODE=all]: the lives that graphs lead. Each mode prints, as "MODE FUNCTION N", how many
 * kernels ran whose nodes were made in that function, and runs no other kernels.
 *
 *   capture		captured in capture_left and capture_right, the graph destroyed early
 *   explicit		made by hand in add_first and add_second, with a copy and a set between
 *   clone		captured, cloned; the clone runs, the original is gone
 *   child		captured, and embedded in a graph that add_first makes
 *   update		an executable graph of capture_left's updated with one of capture_right's:
 *			its nodes remain those of capture_left, which is where CUPTI's ids lead
 *   reinstantiate	graphs of the two captured and destroyed in turn, each with two executable
 *			graphs at a time: ids come again where the driver reuses them
 *   requeue		the same, each destroyed while it and its forerunners are queued: all run
 *			when their ids are others'
 *   threads		requeue in four threads, each on its own stream: ids wander between them
 *   families		graphs with children, made and instantiated in four threads at once
 *   all		one after another
 */
#include "gpu.h"

#include <pthread.h>
#include <string.h>

enum { LEFT = 3, RIGHT = 2, LAUNCHES = 10, CYCLES = 100, BYTES = 4096, KERNEL_NS = 2000 };
enum { THREADS = 4 };

GPU_KERNEL(node_kernel)

static thread_local cudaStream_t stream;
static char *device, *pinned;

NOINLINE static void capture_left(int n)
{
	for (int i = 0; i < n; i++)
		GPU_CHECK(GPU_LAUNCH(stream, KERNEL_NS, node_kernel));
}

NOINLINE static void capture_right(int n)
{
	for (int i = 0; i < n; i++)
		GPU_CHECK(GPU_LAUNCH(stream, KERNEL_NS, node_kernel));
}

static cudaGraph_t capture(int left, int right)
{
	cudaGraph_t graph;

	GPU_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
	capture_left(left);
	capture_right(right);
	GPU_CHECK(cudaStreamEndCapture(stream, &graph));
	return graph;
}

static cudaGraphNode_t add_kernels(cudaGraph_t graph, cudaGraphNode_t after, int n);

/* Both add n kernels behind a node, and return the last. */
NOINLINE static cudaGraphNode_t add_first(cudaGraph_t graph, cudaGraphNode_t after, int n)
{
	return add_kernels(graph, after, n);
}

NOINLINE static cudaGraphNode_t add_second(cudaGraph_t graph, cudaGraphNode_t after, int n)
{
	return add_kernels(graph, after, n);
}

NOINLINE static cudaGraphNode_t add_kernels(cudaGraph_t graph, cudaGraphNode_t after, int n)
{
	struct cudaKernelNodeParams params = {};
	gpu_ns ns = KERNEL_NS;
	void *args[] = {&ns};
	cudaGraphNode_t node = after;

	GPU_REGISTER(node_kernel);
	params.func = (void *)static_cast<gpu_kernel_fn>(node_kernel);
	params.gridDim = dim3(1);
	params.blockDim = dim3(1);
	params.kernelParams = args;
	for (int i = 0; i < n; i++) {
		after = node;
		GPU_CHECK(cudaGraphAddKernelNode(&node, graph, &after, after ? 1 : 0, &params));
	}
	return node;
}

static cudaGraphNode_t add_copy_and_set(cudaGraph_t graph, cudaGraphNode_t after)
{
	struct cudaMemsetParams set = {};
	cudaGraphNode_t copy, node;

	GPU_CHECK(cudaGraphAddMemcpyNode1D(&copy, graph, &after, 1, device, pinned, BYTES,
					   cudaMemcpyHostToDevice));
	set.dst = device;
	set.elementSize = 1;
	set.width = BYTES;
	set.height = 1;
	GPU_CHECK(cudaGraphAddMemsetNode(&node, graph, &copy, 1, &set));
	return node;
}

static cudaGraphExec_t instantiate(cudaGraph_t graph)
{
	cudaGraphExec_t exec;

	GPU_CHECK(cudaGraphInstantiate(&exec, graph, 0));
	return exec;
}

NOINLINE static void replay(cudaGraphExec_t exec, int launches)
{
	for (int i = 0; i < launches; i++)
		GPU_CHECK(cudaGraphLaunch(exec, stream));
	GPU_CHECK(cudaStreamSynchronize(stream));
}

/* Instantiate, run and destroy it. */
static void run(cudaGraph_t graph)
{
	cudaGraphExec_t exec = instantiate(graph);

	GPU_CHECK(cudaGraphDestroy(graph));
	replay(exec, LAUNCHES);
	GPU_CHECK(cudaGraphExecDestroy(exec));
}

static void run_capture()
{
	run(capture(LEFT, RIGHT));
	printf("capture capture_left %d\n", LEFT * LAUNCHES);
	printf("capture capture_right %d\n", RIGHT * LAUNCHES);
}

static void run_explicit()
{
	cudaGraphNode_t node;
	cudaGraph_t graph;

	GPU_CHECK(cudaGraphCreate(&graph, 0));
	node = add_first(graph, nullptr, LEFT);
	node = add_copy_and_set(graph, node);
	add_second(graph, node, RIGHT);
	run(graph);
	printf("explicit add_first %d\n", LEFT * LAUNCHES);
	printf("explicit add_second %d\n", RIGHT * LAUNCHES);
}

static void run_clone()
{
	cudaGraph_t original = capture(LEFT, RIGHT), clone;

	GPU_CHECK(cudaGraphClone(&clone, original));
	GPU_CHECK(cudaGraphDestroy(original));
	run(clone);
	printf("clone capture_left %d\n", LEFT * LAUNCHES);
	printf("clone capture_right %d\n", RIGHT * LAUNCHES);
}

static void run_child()
{
	cudaGraph_t inner = capture(LEFT, RIGHT), outer;
	cudaGraphNode_t node, child;

	GPU_CHECK(cudaGraphCreate(&outer, 0));
	node = add_first(outer, nullptr, 1);
	GPU_CHECK(cudaGraphAddChildGraphNode(&child, outer, &node, 1, inner));
	GPU_CHECK(cudaGraphDestroy(inner));
	run(outer);
	printf("child add_first %d\n", LAUNCHES);
	printf("child capture_left %d\n", LEFT * LAUNCHES);
	printf("child capture_right %d\n", RIGHT * LAUNCHES);
}

static void run_update()
{
	cudaGraph_t left = capture(LEFT, 0), right = capture(0, LEFT);
	cudaGraphExec_t exec = instantiate(left);
	cudaGraphExecUpdateResultInfo info;

	replay(exec, LAUNCHES);
	GPU_CHECK(cudaGraphExecUpdate(exec, right, &info));
	replay(exec, LAUNCHES);
	GPU_CHECK(cudaGraphExecDestroy(exec));
	GPU_CHECK(cudaGraphDestroy(left));
	GPU_CHECK(cudaGraphDestroy(right));
	printf("update capture_left %d\n", 2 * LEFT * LAUNCHES);
}

static void run_reinstantiate()
{
	int left = 0, right = 0;

	for (int i = 0; i < CYCLES; i++) {
		bool is_left = i % 2 == 0;
		cudaGraph_t graph = capture(is_left ? LEFT : 0, is_left ? 0 : LEFT);
		cudaGraphExec_t one = instantiate(graph), two = instantiate(graph);

		replay(one, 1);
		replay(two, 2);
		GPU_CHECK(cudaGraphExecDestroy(one));
		one = instantiate(graph);
		replay(one, 1);
		GPU_CHECK(cudaGraphExecDestroy(one));
		GPU_CHECK(cudaGraphExecDestroy(two));
		GPU_CHECK(cudaGraphDestroy(graph));
		(is_left ? left : right) += 4 * LEFT;
	}
	printf("reinstantiate capture_left %d\n", left);
	printf("reinstantiate capture_right %d\n", right);
}

/* Each cycle's graphs go in the order in which they came, so that the next one's get their ids. */
NOINLINE static void queue_cycles()
{
	for (int i = 0; i < CYCLES; i++) {
		bool is_left = i % 2 == 0;
		cudaGraph_t graph = capture(is_left ? LEFT : 0, is_left ? 0 : RIGHT);
		cudaGraphExec_t exec = instantiate(graph);

		GPU_CHECK(cudaGraphLaunch(exec, stream));
		GPU_CHECK(cudaGraphExecDestroy(exec));
		GPU_CHECK(cudaGraphDestroy(graph));
	}
	GPU_CHECK(cudaStreamSynchronize(stream));
}

static void run_requeue()
{
	queue_cycles();
	printf("requeue capture_left %d\n", LEFT * CYCLES / 2);
	printf("requeue capture_right %d\n", RIGHT * CYCLES / 2);
}

/* A graph with a child that is made in another function from cycle to cycle, and a node behind it.
 */
NOINLINE static void queue_families()
{
	for (int i = 0; i < CYCLES; i++) {
		bool is_left = i % 2 == 0;
		cudaGraph_t inner = capture(is_left ? LEFT : 0, is_left ? 0 : RIGHT), outer;
		cudaGraphNode_t node, child;
		cudaGraphExec_t exec;

		GPU_CHECK(cudaGraphCreate(&outer, 0));
		node = add_first(outer, nullptr, 1);
		GPU_CHECK(cudaGraphAddChildGraphNode(&child, outer, &node, 1, inner));
		add_second(outer, child, 1);
		exec = instantiate(outer);
		GPU_CHECK(cudaGraphLaunch(exec, stream));
		GPU_CHECK(cudaGraphExecDestroy(exec));
		GPU_CHECK(cudaGraphDestroy(outer));
		GPU_CHECK(cudaGraphDestroy(inner));
	}
	GPU_CHECK(cudaStreamSynchronize(stream));
}

static pthread_barrier_t all_ready;

static void begin_thread()
{
	GPU_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	pthread_barrier_wait(&all_ready);
}

NOINLINE static void *run_threads(void *)
{
	begin_thread();
	queue_cycles();
	GPU_CHECK(cudaStreamDestroy(stream));
	return nullptr;
}

NOINLINE static void *run_families(void *)
{
	begin_thread();
	queue_families();
	GPU_CHECK(cudaStreamDestroy(stream));
	return nullptr;
}

static void start_threads(void *(*run)(void *))
{
	pthread_t threads[THREADS];

	pthread_barrier_init(&all_ready, nullptr, THREADS);
	for (pthread_t &t : threads)
		if (pthread_create(&t, nullptr, run, nullptr) != 0)
			abort();
	for (pthread_t t : threads)
		pthread_join(t, nullptr);
	pthread_barrier_destroy(&all_ready);
}

static void start_cycles()
{
	start_threads(run_threads);
	printf("threads capture_left %d\n", THREADS * LEFT * CYCLES / 2);
	printf("threads capture_right %d\n", THREADS * RIGHT * CYCLES / 2);
}

static void start_families()
{
	start_threads(run_families);
	printf("families capture_left %d\n", THREADS * LEFT * CYCLES / 2);
	printf("families capture_right %d\n", THREADS * RIGHT * CYCLES / 2);
	printf("families add_first %d\n", THREADS * CYCLES);
	printf("families add_second %d\n", THREADS * CYCLES);
}

static const struct {
	const char *name;
	void (*run)();
} modes[] = {
	{"capture", run_capture}, {"explicit", run_explicit}, {"clone", run_clone},
	{"child", run_child},     {"update", run_update},     {"reinstantiate", run_reinstantiate},
	{"requeue", run_requeue}, {"threads", start_cycles},  {"families", start_families},
};

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "all";
	bool found = false;

	GPU_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	GPU_CHECK(cudaMalloc((void **)&device, BYTES));
	GPU_CHECK(cudaMallocHost((void **)&pinned, BYTES));
	for (const auto &m : modes) {
		if (strcmp(mode, "all") == 0 || strcmp(mode, m.name) == 0) {
			m.run();
			found = true;
		}
	}
	if (!found) {
		fprintf(stderr, "usage: %s [MODE]\n", argv[0]);
		return 1;
	}
	GPU_CHECK(cudaFreeHost(pinned));
	GPU_CHECK(cudaFree(device));
	GPU_CHECK(cudaStreamDestroy(stream));
	return 0;
}
