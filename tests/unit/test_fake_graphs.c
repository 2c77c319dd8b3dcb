/* SPDX-License-Identifier: MIT */
/* The stand-ins' graphs: CUPTI's node callbacks, and the work. As test_fake_cuda.c. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "../fake_cuda/test_client.h"

enum {
	CREATED = CUPTI_ABI_RESOURCE_GRAPHNODE_CREATED,
	CLONED = CUPTI_ABI_RESOURCE_GRAPHNODE_CLONED,
	DESTROYED = CUPTI_ABI_RESOURCE_GRAPHNODE_DESTROY_STARTING,
	EXEC_DESTROYED = CUPTI_ABI_RESOURCE_GRAPHEXEC_DESTROY_STARTING,
};

static void watch_graphs(void)
{
	subscribe();
	enable(CUPTI_ABI_DOMAIN_RESOURCE, CREATED);
	enable(CUPTI_ABI_DOMAIN_RESOURCE, CLONED);
	enable(CUPTI_ABI_DOMAIN_RESOURCE, DESTROYED);
	enable(CUPTI_ABI_DOMAIN_RESOURCE, EXEC_DESTROYED);
	enable_kernels();
	enable_work(CUPTI_ABI_ACTIVITY_KIND_MEMCPY);
	enable_work(CUPTI_ABI_ACTIVITY_KIND_MEMSET);
}

/* A node's type is known only before it is there. */
static void expect_event(unsigned int at, uint32_t cbid, uint64_t original)
{
	assert_true(at < seen.nodes);
	assert_int_equal(seen.node[at].cbid, cbid);
	assert_int_equal(seen.node[at].type, 0);
	assert_int_equal(seen.node[at].original, original);
}

/* A kernel, a copy, a set: captured. */
static cudaGraph_t capture_three(cudaStream_t stream, char *device, char *host, uint64_t ns)
{
	cudaGraph_t graph;

	assert_int_equal(rt.cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed), 0);
	assert_int_equal(launch(stream, ns), 0);
	assert_int_equal(rt.cudaMemcpyAsync(device, host, 8, cudaMemcpyHostToDevice, stream), 0);
	assert_int_equal(rt.cudaMemsetAsync(device + 4, 'x', 4, stream), 0);
	assert_int_equal(rt.cudaStreamEndCapture(stream, &graph), 0);
	return graph;
}

static void a_captured_graph_runs_copies_and_sets(void)
{
	cudaStream_t stream;
	cudaGraphExec_t exec;
	cudaGraph_t graph;
	char host[8] = "abcdefg", back[8], *device;
	void *memory;

	watch_graphs();
	stream = new_stream();
	device = device_memory(8);
	graph = capture_three(stream, device, host, 1000);
	assert_int_equal(seen.nodes, 3);
	for (unsigned int i = 0; i < 3; i++)
		expect_event(i, CREATED, 0);
	assert_int_equal(rt.cudaGraphInstantiate(&exec, graph, 0), 0);
	assert_int_equal(seen.nodes, 9);
	for (unsigned int i = 0; i < 3; i++) {
		expect_event(3 + 2 * i, CREATED, 0);
		expect_event(4 + 2 * i, CLONED, seen.node[i].id);
		assert_int_equal(seen.node[4 + 2 * i].id, seen.node[3 + 2 * i].id);
	}
	assert_int_equal(rt.cudaGraphLaunch(exec, stream), 0);
	memcpy(host, "hijklmn", 8);
	assert_int_equal(rt.cudaGraphLaunch(exec, stream), 0);
	assert_int_equal(rt.cudaMemcpy(back, device, 8, cudaMemcpyDeviceToHost), 0);
	assert_memory_equal(back, "hijkxxxx", 8);
	flush();
	assert_int_equal(seen.records, 2);
	assert_int_equal(seen.works, 5);
	assert_int_equal(seen.record[0].graph_node_id, seen.node[4].id);
	assert_int_equal(seen.work[0].copy.graph_node_id, seen.node[6].id);
	assert_int_equal(seen.work[1].set.graph_node_id, seen.node[8].id);
	assert_int_equal(seen.work[0].copy.correlation_id, seen.record[0].correlation_id);
	assert_int_equal(seen.work[1].set.correlation_id, seen.record[0].correlation_id);
	assert_int_equal(seen.work[1].set.graph_id, seen.record[0].graph_id);
	assert_true(seen.work[1].set.start >= seen.work[0].copy.end);
	assert_int_not_equal(seen.record[1].correlation_id, seen.record[0].correlation_id);
	assert_int_equal(rt.cudaGraphDestroy(graph), 0);
	assert_int_equal(seen.nodes, 12);
	expect_event(9, DESTROYED, 0);
	assert_int_equal(seen.node[9].id, seen.node[0].id);
	assert_int_equal(seen.resources[EXEC_DESTROYED], 0);
	assert_int_equal(rt.cudaGraphExecDestroy(exec), 0);
	assert_int_equal(seen.resources[EXEC_DESTROYED], 1);
	assert_int_equal(seen.node[12].id, seen.node[3].id);

	/* Allocations are nodes too, that put nothing on the timeline. */
	assert_int_equal(rt.cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed), 0);
	assert_int_equal(rt.cudaMallocAsync(&memory, 8, stream), 0);
	assert_int_equal(rt.cudaMemsetAsync(memory, 1, 8, stream), 0);
	assert_int_equal(rt.cudaFreeAsync(memory, stream), 0);
	assert_int_equal(rt.cudaStreamEndCapture(stream, &graph), 0);
	expect_event(15, CREATED, 0);
	expect_event(17, CREATED, 0);
	assert_int_equal(rt.cudaGraphInstantiate(&exec, graph, 0), 0);
	assert_int_equal(rt.cudaGraphLaunch(exec, stream), 0);
	flush();
	assert_int_equal(seen.works, 6);
}

static void graphs_are_made_by_hand_and_nest(void)
{
	struct cudaMemsetParams set = {NULL, 0, 7, 4, 2, 1};
	uint64_t ns = 1000;
	void *args[] = {&ns};
	struct cudaKernelNodeParams kernel = {.func = (void *)(uintptr_t)kernel_stub,
					      .gridDim = {1, 1, 1},
					      .blockDim = {1, 1, 1},
					      .kernelParams = args};
	cudaGraph_t inner, outer, clone;
	cudaGraphNode_t nodes[4];
	cudaGraphExec_t exec;
	uint32_t back[2];
	uint64_t whole;
	char *device;

	watch_graphs();
	device = device_memory(16);
	set.dst = device;
	assert_int_equal(launch(NULL, 1), 0); /* registers the kernel */
	assert_int_equal(rt.cudaGraphCreate(&inner, 0), 0);
	assert_int_equal(rt.cudaGraphCreate(&outer, 0), 0);
	assert_int_equal(rt.cudaGraphAddMemsetNode(&nodes[0], inner, NULL, 0, &set), 0);
	assert_int_equal(rt.cudaGraphAddMemcpyNode1D(&nodes[1], inner, nodes, 1, device + 8, device,
						     8, cudaMemcpyDeviceToDevice),
			 0);
	assert_int_equal(rt.cudaGraphAddKernelNode(&nodes[2], outer, nodes, 1, &kernel), 1);
	assert_int_equal(rt.cudaGraphAddKernelNode(&nodes[2], outer, NULL, 0, &kernel), 0);
	ns = 99; /* read when the node was made */
	assert_int_equal(rt.cudaGraphAddChildGraphNode(&nodes[3], outer, &nodes[2], 1, inner), 0);
	assert_int_equal(seen.nodes, 8);
	expect_event(2, CREATED, 0);
	expect_event(4, CLONED, seen.node[0].id);
	expect_event(6, CLONED, seen.node[1].id);
	expect_event(7, CREATED, 0);
	assert_int_equal(rt.cudaGraphClone(&clone, outer), 0);
	assert_int_equal(seen.nodes, 16);
	expect_event(9, CLONED, seen.node[2].id);
	expect_event(11, CLONED, seen.node[4].id);
	expect_event(13, CLONED, seen.node[6].id);
	expect_event(15, CLONED, seen.node[7].id);
	assert_int_equal(rt.cudaGraphDestroy(inner), 0);
	assert_int_equal(rt.cudaGraphDestroy(outer), 0);
	seen.nodes = 0;
	assert_int_equal(rt.cudaGraphInstantiate(&exec, clone, 0), 0);
	assert_int_equal(rt.cudaGraphLaunch(exec, NULL), 0);
	assert_int_equal(rt.cudaMemcpy(back, device + 8, 8, cudaMemcpyDeviceToHost), 0);
	assert_int_equal(back[1], 7);
	flush();
	assert_int_equal(seen.records, 2);
	assert_int_equal(seen.record[1].end - seen.record[1].start, 1000);
	/* the child's nodes run as nodes of the whole, without a callback */
	whole = seen.node[1].id;
	assert_int_equal(seen.record[1].graph_node_id, whole);
	assert_int_equal(seen.work[0].set.graph_node_id, whole + 2);
	assert_int_equal(seen.work[1].copy.graph_node_id, whole + 3);
	assert_int_equal(seen.work[1].copy.graph_id, whole >> 32);
	assert_int_equal(seen.nodes, 13);
	assert_int_equal(seen.node[7].id, whole + 1);
	expect_event(8, CREATED, 0);
	expect_event(9, DESTROYED, 0);
	assert_int_equal(seen.node[9].id, whole + 1);
	expect_event(10, CREATED, 0);
	assert_int_equal(seen.node[10].id, whole + 4);
	expect_event(11, DESTROYED, 0);
	assert_int_equal(seen.node[11].id, whole + 2);
	expect_event(12, CREATED, 0);
	assert_int_equal(seen.node[12].id, whole + 5);
}

static void an_update_keeps_the_nodes(void)
{
	cudaGraphExecUpdateResultInfo info;
	cudaGraph_t first, second, other;
	char host[8] = "", *device;
	cudaGraphExec_t exec;
	cudaStream_t stream;

	watch_graphs();
	stream = new_stream();
	device = device_memory(8);
	first = capture_three(stream, device, host, 1000);
	second = capture_three(stream, device, host, 5000);
	assert_int_equal(rt.cudaGraphCreate(&other, 0), 0);
	assert_int_equal(rt.cudaGraphInstantiate(&exec, first, 0), 0);
	assert_int_equal(rt.cudaGraphLaunch(exec, stream), 0);
	assert_int_equal(rt.cudaGraphExecUpdate(exec, second, &info), 0);
	assert_int_equal(info.result, cudaGraphExecUpdateSuccess);
	assert_int_equal(rt.cudaGraphLaunch(exec, stream), 0);
	assert_int_equal(rt.cudaGraphExecUpdate(exec, other, &info),
			 cudaErrorGraphExecUpdateFailure);
	assert_int_equal(info.result, cudaGraphExecUpdateErrorTopologyChanged);
	flush();
	assert_int_equal(seen.records, 2);
	assert_int_equal(seen.record[1].end - seen.record[1].start, 5000);
	assert_int_equal(seen.record[1].graph_node_id, seen.record[0].graph_node_id);
}

static void node_ids_are_reused_only_on_demand(void)
{
	const char *reuse[] = {"0", "1"};

	for (int i = 0; i < 2; i++) {
		char host[8] = "", *device;
		uint64_t captured, instantiated;
		cudaGraphExec_t exec;
		cudaStream_t stream;
		cudaGraph_t graph;
		int status;
		pid_t pid = fork();

		if (pid) {
			assert_int_equal(waitpid(pid, &status, 0), pid);
			assert_int_equal(status, 0);
			continue;
		}
		setenv("FAKE_CUDA_REUSE_NODE_IDS", reuse[i], 1);
		watch_graphs();
		stream = new_stream();
		device = device_memory(8);
		graph = capture_three(stream, device, host, 1000);
		captured = seen.node[0].id;
		assert_int_equal(rt.cudaGraphInstantiate(&exec, graph, 0), 0);
		instantiated = seen.node[3].id;
		assert_int_equal(rt.cudaGraphExecDestroy(exec), 0);
		seen.nodes = 0;
		assert_int_equal(rt.cudaGraphInstantiate(&exec, graph, 0), 0);
		assert_int_equal(seen.node[0].id == instantiated, i);
		assert_int_not_equal(seen.node[0].id, captured);
		exit(0);
	}
}

/* A graph destroyed while queued runs to its end. Another graph may have its ids by then. */
static void a_graph_may_be_destroyed_while_it_is_queued(void)
{
	char host[8] = "", *device;
	cudaGraphExec_t exec;
	cudaStream_t stream;
	cudaGraph_t graph;
	int status;
	pid_t pid = fork();

	if (pid) {
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
		return;
	}
	setenv("FAKE_CUDA_REUSE_NODE_IDS", "1", 1);
	setenv("FAKE_CUDA_LATENCY_NS", "20000000", 1);
	watch_graphs();
	stream = new_stream();
	device = device_memory(8);
	for (uint64_t ns = 1000; ns <= 2000; ns += 1000) {
		graph = capture_three(stream, device, host, ns);
		assert_int_equal(rt.cudaGraphInstantiate(&exec, graph, 0), 0);
		assert_int_equal(rt.cudaGraphLaunch(exec, stream), 0);
		assert_int_equal(rt.cudaGraphExecDestroy(exec), 0);
		assert_int_equal(rt.cudaGraphDestroy(graph), 0);
		assert_int_equal(cupti.cuptiActivityFlushAll(0), 0);
		assert_int_equal(seen.records, 0); /* nothing has run yet */
	}
	flush();
	assert_int_equal(seen.records, 2);
	assert_int_equal(seen.works, 4);
	for (int i = 0; i < 2; i++)
		assert_int_equal(seen.record[i].end - seen.record[i].start, 1000 + 1000 * i);
	assert_int_equal(seen.record[0].graph_node_id, seen.record[1].graph_node_id);
	exit(0);
}

static void a_graph_can_have_one_record(void)
{
	const struct cupti_abi_graph_trace *g = &seen.work[0].graph;
	char host[8] = "", *device;
	cudaGraphExec_t exec;
	cudaStream_t stream;
	cudaGraph_t graph;

	watch_graphs();
	stream = new_stream();
	device = device_memory(8);
	graph = capture_three(stream, device, host, 1000);
	assert_int_equal(rt.cudaGraphInstantiate(&exec, graph, 0), 0);
	assert_int_equal(cupti.cuptiActivityEnable(CUPTI_ABI_ACTIVITY_KIND_GRAPH_TRACE), 0);
	assert_int_equal(rt.cudaGraphLaunch(exec, stream), 0);
	assert_int_equal(launch(stream, 1000), 0);
	flush();
	assert_int_equal(seen.records, 1);
	assert_int_equal(seen.works, 1);
	assert_int_equal(g->kind, CUPTI_ABI_ACTIVITY_KIND_GRAPH_TRACE);
	assert_true(g->end - g->start >= 1000 + 2 * 2000);
	assert_true(g->end <= seen.record[0].start);
	assert_int_equal(g->graph_id, seen.node[3].id >> 32);
	assert_int_equal(g->stream_id, seen.record[0].stream_id);
	assert_int_not_equal(g->correlation_id, seen.record[0].correlation_id);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_captured_graph_runs_copies_and_sets),
		TEST(graphs_are_made_by_hand_and_nest),
		TEST(an_update_keeps_the_nodes),
		TEST(node_ids_are_reused_only_on_demand),
		TEST(a_graph_may_be_destroyed_while_it_is_queued),
		TEST(a_graph_can_have_one_record),
	};

	if (!getenv("FAKE_CUDA_DIR")) {
		printf("1..0 # SKIP FAKE_CUDA_DIR is not set: the stand-ins have not been built\n");
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
