/* SPDX-License-Identifier: MIT */
/*
 * What a launch costs, with and without a profiler around it.
 *
 * Launches come in bursts that fit the launch queue, so that the CPU is what is timed; waiting for
 * the GPU lies outside the clock. Prints one line: median and 90th percentile of a burst's mean,
 * ns. With "graph" it is a graph of GRAPH_NODES empty kernels that is launched and waited for, and
 * what is timed is both, ns a node: records of nodes cost the GPU's time, not the CPU's.
 * usage: launch_cost [stack depth = 20] [bursts = 400] [graph]
 */
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <vector>
#include <cuda_runtime.h>

__global__ void nothing()
{
}

static double now_ns()
{
	timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

enum { BURST = 256, GRAPH_NODES = 200, GRAPH_LAUNCHES = 10 };

__attribute__((noinline)) static void launch_at_depth(long depth)
{
	if (depth > 0)
		launch_at_depth(depth - 1);
	else
		for (int i = 0; i < BURST; i++)
			nothing<<<1, 1>>>();
	__asm__ volatile("" ::: "memory"); /* no tail call: every level is a frame */
}

static void time_launches(long depth, long bursts, std::vector<double> &cost)
{
	launch_at_depth(depth);
	cudaDeviceSynchronize();
	for (long i = 0; i < bursts; i++) {
		double start = now_ns();

		launch_at_depth(depth);
		cost.push_back((now_ns() - start) / BURST);
		cudaDeviceSynchronize();
	}
}

static void replay(cudaGraphExec_t exec, cudaStream_t stream)
{
	for (int i = 0; i < GRAPH_LAUNCHES; i++)
		cudaGraphLaunch(exec, stream);
	cudaStreamSynchronize(stream);
}

static void time_graph(long bursts, std::vector<double> &cost)
{
	cudaStream_t stream;
	cudaGraph_t graph;
	cudaGraphExec_t exec;

	cudaStreamCreate(&stream);
	cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
	for (int i = 0; i < GRAPH_NODES; i++)
		nothing<<<1, 1, 0, stream>>>();
	cudaStreamEndCapture(stream, &graph);
	cudaGraphInstantiate(&exec, graph, 0);
	replay(exec, stream);
	for (long i = 0; i < bursts; i++) {
		double start = now_ns();

		replay(exec, stream);
		cost.push_back((now_ns() - start) / (GRAPH_NODES * GRAPH_LAUNCHES));
	}
}

int main(int argc, char **argv)
{
	long depth = argc > 1 ? strtol(argv[1], nullptr, 10) : 20;
	long bursts = argc > 2 ? strtol(argv[2], nullptr, 10) : 400;
	std::vector<double> cost;

	if (argc > 3 && strcmp(argv[3], "graph") == 0)
		time_graph(bursts, cost);
	else
		time_launches(depth, bursts, cost);
	std::sort(cost.begin(), cost.end());
	printf("p50 %.0f p90 %.0f\n", cost[cost.size() / 2], cost[cost.size() * 9 / 10]);
	return cudaGetLastError() != cudaSuccess;
}
