/* SPDX-License-Identifier: MIT */
/*
 * state.cu SECONDS: computes with all multiprocessors for that long, in kernels of some 50 ms, then
 * copies 20 GiB from pinned memory to the device, and waits for a second. Prints "copied BYTES",
 * and "busy FROM TO", when it computed, by the wall clock in seconds.
 */
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <cuda_runtime.h>
#include <unistd.h>
#include "../workloads/gpu.h"

static const size_t bytes = size_t(1) << 30;
static const int copies = 20;

__global__ void compute(float *out, int rounds)
{
	float a[8];

	for (int i = 0; i < 8; i++)
		a[i] = threadIdx.x + i;
	for (int round = 0; round < rounds; round++)
		for (int i = 0; i < 8; i++)
			a[i] = fmaf(a[i], 0.999f, 0.5f);
	for (int i = 0; i < 8; i++)
		out[(blockIdx.x * blockDim.x + threadIdx.x) % 1024] += a[i];
}

static double now()
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 5, from;
	float *out;
	void *host, *device;
	cudaDeviceProp of;

	GPU_CHECK(cudaGetDeviceProperties(&of, 0));
	GPU_CHECK(cudaMalloc((void **)&out, 4096));
	GPU_CHECK(cudaMalloc(&device, bytes));
	GPU_CHECK(cudaMallocHost(&host, bytes));
	from = now();
	while (now() - from < seconds) {
		for (int i = 0; i < 4; i++)
			compute<<<of.multiProcessorCount * 8, 256>>>(out, 1 << 20);
		GPU_CHECK(cudaDeviceSynchronize());
	}
	printf("busy %.3f %.3f\n", from, now());
	for (int i = 0; i < copies; i++)
		GPU_CHECK(cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice));
	printf("copied %zu\n", bytes * copies);
	sleep(1);
	return 0;
}
