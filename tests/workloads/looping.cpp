/* SPDX-License-Identifier: MIT */
/*
 * looping: launches bursts of 256 kernels and waits for each, until it is ended. Prints each 100 ms
 * when that began (CLOCK_MONOTONIC, ns) and how long a launch took, the median of the bursts:
 * "START ns NS.N".
 */
#include "gpu.h"

#include <algorithm>
#include <time.h>
#include <vector>

enum { BURST = 256, SPAN_NS = 100000000 };

GPU_KERNEL(looped)

static gpu_ns now_ns()
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (gpu_ns)t.tv_sec * 1000000000u + (gpu_ns)t.tv_nsec;
}

NOINLINE static gpu_ns launch_burst()
{
	gpu_ns start = now_ns(), end;

	for (int i = 0; i < BURST; i++)
		GPU_CHECK(GPU_LAUNCH(nullptr, 100, looped));
	end = now_ns();
	GPU_CHECK(cudaDeviceSynchronize());
	return end - start;
}

int main()
{
	GPU_CHECK(cudaDeviceSynchronize());
	for (;;) {
		gpu_ns start = now_ns();
		std::vector<gpu_ns> bursts;

		while (now_ns() - start < SPAN_NS)
			bursts.push_back(launch_burst());
		std::nth_element(bursts.begin(), bursts.begin() + bursts.size() / 2, bursts.end());
		printf("%llu ns %.1f\n", start, (double)bursts[bursts.size() / 2] / BURST);
		fflush(stdout);
	}
}
