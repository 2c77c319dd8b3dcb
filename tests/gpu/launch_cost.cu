/* SPDX-License-Identifier: MIT */
/*
 * What a launch costs the CPU, with and without a profiler around it.
 *
 * Launches come in bursts that fit the launch queue, so that the CPU is what is timed; waiting for
 * the GPU lies outside the clock. Prints one line: median and 90th percentile of a burst's mean,
 * ns. usage: launch_cost [stack depth = 20] [bursts = 400]
 */
#include <algorithm>
#include <cstdio>
#include <cstdlib>
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

enum { BURST = 256 };

__attribute__((noinline)) static void launch_at_depth(long depth)
{
	if (depth > 0)
		launch_at_depth(depth - 1);
	else
		for (int i = 0; i < BURST; i++)
			nothing<<<1, 1>>>();
	__asm__ volatile("" ::: "memory"); /* no tail call: every level is a frame */
}

int main(int argc, char **argv)
{
	long depth = argc > 1 ? strtol(argv[1], nullptr, 10) : 20;
	long bursts = argc > 2 ? strtol(argv[2], nullptr, 10) : 400;
	std::vector<double> cost;

	launch_at_depth(depth);
	cudaDeviceSynchronize();
	for (long i = 0; i < bursts; i++) {
		double start = now_ns();

		launch_at_depth(depth);
		cost.push_back((now_ns() - start) / BURST);
		cudaDeviceSynchronize();
	}
	std::sort(cost.begin(), cost.end());
	printf("p50 %.0f p90 %.0f\n", cost[cost.size() / 2], cost[cost.size() * 9 / 10]);
	return cudaGetLastError() != cudaSuccess;
}
