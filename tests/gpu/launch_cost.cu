/* SPDX-License-Identifier: MIT */
/*
 * What a launch costs, with and without a profiler around it.
 *
 * Launches come in bursts that fit the launch queue, so that the CPU is what is timed; waiting for
 * the GPU lies outside the clock. Prints one line: median and 90th percentile of a burst's mean,
 * ns. With "graph" it is a graph of GRAPH_NODES empty kernels that is launched and waited for, and
 * what is timed is both, ns a node: records of nodes cost the GPU's time, not the CPU's.
 *
 * With "toggled", CUPTI's callbacks are set to each mode in turn, by burst (toggled_cupti.c): none,
 * and runtime, driver, both, or empty (both, but nothing comes of the calls). A line each, with how
 * much longer than with none a burst of the same turn took: the median, the interval that holds the
 * true one in 95 of 100 runs, and the quarters of the turns.
 *
 * usage: launch_cost [stack depth = 20] [bursts = 400] [graph | toggled [MODE = both]...]
 */
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <random>
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

struct mode {
	const char *name;
	unsigned int wants; /* for cupti_toggle */
	std::vector<double> cost, more;
};

static double part(const std::vector<double> &sorted, double share)
{
	double at = share * (double)sorted.size();

	return sorted[(size_t)std::min(std::max(at, 0.0), (double)sorted.size() - 1)];
}

/* The interval is that of the median by ranks (binomial distribution). */
static void print_mode(mode &m, long turns)
{
	double half = 0.98 / std::sqrt((double)turns);

	std::sort(m.cost.begin(), m.cost.end());
	std::sort(m.more.begin(), m.more.end());
	printf("%s %.0f more %.0f (%.0f to %.0f; quarters %.0f to %.0f)\n", m.name,
	       part(m.cost, 0.5), part(m.more, 0.5), part(m.more, 0.5 - half),
	       part(m.more, 0.5 + half), part(m.more, 0.25), part(m.more, 0.75));
}

/* `names`: the modes beside "none". Which comes first is drawn for each turn. */
static int time_toggled(long depth, long turns, char **names)
{
	static const mode all[] = {{"none", 0, {}, {}},
				   {"runtime", 1, {}, {}},
				   {"driver", 2, {}, {}},
				   {"both", 3, {}, {}},
				   {"empty", 7, {}, {}}};
	auto toggle = (unsigned int (*)(unsigned int))dlsym(RTLD_DEFAULT, "cupti_toggle");
	auto want_empty = (void (*)())dlsym(RTLD_DEFAULT, "cupti_toggle_empty");
	std::vector<mode> modes(1, all[0]);
	std::vector<size_t> order(1, 0);
	std::mt19937 random((unsigned int)now_ns());

	for (; *names; names++) {
		for (const mode &m : all)
			if (m.wants && strcmp(m.name, *names) == 0)
				modes.push_back(m);
		if (want_empty && strcmp(*names, "empty") == 0)
			want_empty();
	}
	if (modes.size() == 1)
		modes.push_back(all[3]);
	cudaFree(nullptr); /* whoever subscribes does so at the start of CUDA */
	if (!toggle || toggle(0) == 0) {
		fprintf(stderr, "launch_cost: toggled_cupti.c is not here, or nobody subscribed\n");
		return 1;
	}
	while (order.size() < modes.size())
		order.push_back(order.size());
	for (long i = 0; i < turns; i++) {
		std::shuffle(order.begin(), order.end(), random);
		for (size_t at : order) {
			double start;

			toggle(modes[at].wants);
			launch_at_depth(depth); /* what turning it on or off has made cold */
			cudaDeviceSynchronize();
			start = now_ns();
			launch_at_depth(depth);
			modes[at].cost.push_back((now_ns() - start) / BURST);
			cudaDeviceSynchronize();
		}
		for (mode &m : modes)
			m.more.push_back(m.cost.back() - modes[0].cost.back());
	}
	for (mode &m : modes)
		print_mode(m, turns);
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
		return time_toggled(depth, bursts, argv + 4);
	if (argc > 3 && strcmp(argv[3], "graph") == 0)
		time_graph(bursts, cost);
	else
		time_launches(depth, bursts, cost);
	std::sort(cost.begin(), cost.end());
	printf("p50 %.0f p90 %.0f\n", cost[cost.size() / 2], cost[cost.size() * 9 / 10]);
	return cudaGetLastError() != cudaSuccess;
}
