/* SPDX-License-Identifier: MIT */
/*
 * What a launch costs, with and without a profiler around it.
 *
 * Launches come in bursts that fit the launch queue, so that the CPU is what is timed; waiting for
 * the GPU lies outside the clock. Prints one line: median and 90th percentile of a burst's mean,
 * ns. With "graph" it is a graph of GRAPH_NODES empty kernels that is launched and waited for, and
 * what is timed is both, ns a node: records of nodes cost the GPU's time, not the CPU's.
 *
 * With "toggled", CUPTI's callbacks are off, on for the runtime, for the driver, for both, or for
 * both but empty, in turn by burst (toggled_cupti.c); a line each, with how much longer than with
 * none a burst of the same turn took: median, and a quarter of them below and above.
 *
 * usage: launch_cost [stack depth = 20] [bursts = 400] [graph | toggled]
 */
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <vector>
#include <cuda_runtime.h>
#include <dlfcn.h>

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

/* Which comes first changes from turn to turn. */
static int time_toggled(long depth, long bursts)
{
	static const char *const names[] = {"none", "runtime", "driver", "both", "empty"};
	static const unsigned int wants[] = {0, 1, 2, 3, 7};
	constexpr long modes = sizeof(wants) / sizeof(wants[0]); /* a prime: each step meets all */
	auto toggle = (unsigned int (*)(unsigned int))dlsym(RTLD_DEFAULT, "cupti_toggle");
	std::vector<double> cost[modes], more[modes];

	cudaFree(nullptr); /* whoever subscribes does so at the start of CUDA */
	if (!toggle || toggle(0) == 0) {
		fprintf(stderr, "launch_cost: toggled_cupti.c is not here, or nobody subscribed\n");
		return 1;
	}
	for (long i = 0; i < bursts; i++) {
		double turn[modes];

		for (long j = 0; j < modes; j++) {
			long mode = (i + j * (1 + i / modes % (modes - 1))) % modes;
			double start;

			toggle(wants[mode]);
			launch_at_depth(depth); /* what turning it on or off has made cold */
			cudaDeviceSynchronize();
			start = now_ns();
			launch_at_depth(depth);
			turn[mode] = (now_ns() - start) / BURST;
			cudaDeviceSynchronize();
		}
		for (long mode = 0; mode < modes; mode++) {
			cost[mode].push_back(turn[mode]);
			more[mode].push_back(turn[mode] - turn[0]);
		}
	}
	for (long mode = 0; mode < modes; mode++) {
		std::sort(cost[mode].begin(), cost[mode].end());
		std::sort(more[mode].begin(), more[mode].end());
		printf("%s %.0f more %.0f (%.0f to %.0f)\n", names[mode], cost[mode][bursts / 2],
		       more[mode][bursts / 2], more[mode][bursts / 4], more[mode][bursts * 3 / 4]);
	}
	return cudaGetLastError() != cudaSuccess;
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

	if (argc > 3 && strcmp(argv[3], "toggled") == 0)
		return time_toggled(depth, bursts);
	if (argc > 3 && strcmp(argv[3], "graph") == 0)
		time_graph(bursts, cost);
	else
		time_launches(depth, bursts, cost);
	std::sort(cost.begin(), cost.end());
	printf("p50 %.0f p90 %.0f\n", cost[cost.size() / 2], cost[cost.size() * 9 / 10]);
	return cudaGetLastError() != cudaSuccess;
}
