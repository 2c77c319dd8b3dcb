/* SPDX-License-Identifier: MIT */
/*
 * Unified memory that migrates all the time: a kernel and the CPU touch it in turn, and each finds
 * it on the other side. Prints one line: ms a turn (median), and the CPU's part of that.
 * usage: migrate [MiB = 64, at most 1024] [turns = 40]
 */
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>
#include <cuda_runtime.h>
#include "../workloads/gpu.h"

__global__ static void add_one(int *p, size_t n)
{
	for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < n;
	     i += gridDim.x * size_t(blockDim.x))
		p[i] += 1;
}

static double now_ms()
{
	timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

int main(int argc, char **argv)
{
	long mib = argc > 1 ? strtol(argv[1], nullptr, 10) : 64;
	long turns = argc > 2 ? strtol(argv[2], nullptr, 10) : 40;
	std::vector<double> all, cpu;
	size_t n;
	int *p;

	if (mib < 1 || mib > 1024 || turns < 1)
		return 2;
	n = (size_t(mib) << 20) / sizeof(*p);
	GPU_CHECK(cudaMallocManaged(&p, n * sizeof(*p)));
	for (size_t i = 0; i < n; i++)
		p[i] = 0;
	for (long turn = 0; turn < turns; turn++) {
		double start = now_ms(), middle;

		add_one<<<256, 256>>>(p, n);
		GPU_CHECK(cudaGetLastError());
		GPU_CHECK(cudaDeviceSynchronize());
		middle = now_ms();
		for (size_t i = 0; i < n; i += 1024)
			p[i] += 1;
		cpu.push_back(now_ms() - middle);
		all.push_back(now_ms() - start);
	}
	if (p[0] != 2 * turns || p[1] != turns)
		return 1;
	GPU_CHECK(cudaFree(p));
	std::sort(all.begin(), all.end());
	std::sort(cpu.begin(), cpu.end());
	printf("turn %.2f cpu %.2f\n", all[all.size() / 2], cpu[cpu.size() / 2]);
	return 0;
}
