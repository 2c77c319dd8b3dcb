/* SPDX-License-Identifier: MIT */
/*
 * Large copies and sets between CUDA events: the events' times of each kind, for comparison with
 * the profile. Prints "FRAME COUNT NS" lines, where FRAME is the profile's. Then unified memory:
 * touched by the CPU, the GPU, and the CPU again; prints "managed BYTES".
 */
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include "../workloads/gpu.h"

/* a pair of events takes some us more than what is between them: less than 1 % of these */
static const size_t bytes = size_t(256) << 20, largest = size_t(8) << 30;
static const int rounds = 20;
static cudaStream_t stream;
static cudaEvent_t before, after;

template <typename Work> static void measure(const char *frame, Work work)
{
	double ns = 0;

	for (int i = 0; i < rounds; i++) {
		float ms;

		GPU_CHECK(cudaEventRecord(before, stream));
		work();
		GPU_CHECK(cudaEventRecord(after, stream));
		GPU_CHECK(cudaStreamSynchronize(stream));
		GPU_CHECK(cudaEventElapsedTime(&ms, before, after));
		ns += ms * 1e6;
	}
	printf("%s\t%d\t%.0f\n", frame, rounds, ns);
}

__global__ static void touch(float *p, size_t n)
{
	for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < n;
	     i += gridDim.x * size_t(blockDim.x))
		p[i] += 1;
}

static void use_managed()
{
	size_t n = size_t(4) << 20;
	float *p, sum = 0;

	GPU_CHECK(cudaMallocManaged(&p, n * sizeof(*p)));
	for (size_t i = 0; i < n; i++)
		p[i] = 1;
	touch<<<64, 256, 0, stream>>>(p, n);
	GPU_CHECK(cudaStreamSynchronize(stream));
	for (size_t i = 0; i < n; i += 1024)
		sum += p[i];
	printf("managed %zu sum %.0f\n", n * sizeof(*p), sum);
	GPU_CHECK(cudaFree(p));
}

int main()
{
	void *device, *other, *pinned;
	size_t free_bytes, all_bytes, large;

	GPU_CHECK(cudaMemGetInfo(&free_bytes, &all_bytes));
	large = free_bytes / 3 < largest ? free_bytes / 3 : largest;
	GPU_CHECK(cudaStreamCreate(&stream));
	GPU_CHECK(cudaEventCreate(&before));
	GPU_CHECK(cudaEventCreate(&after));
	GPU_CHECK(cudaMalloc(&device, large));
	GPU_CHECK(cudaMalloc(&other, large));
	GPU_CHECK(cudaMallocHost(&pinned, bytes));
	measure("[GPU_Memcpy HtoD]", [&] {
		GPU_CHECK(cudaMemcpyAsync(device, pinned, bytes, cudaMemcpyHostToDevice, stream));
	});
	measure("[GPU_Memcpy DtoH]", [&] {
		GPU_CHECK(cudaMemcpyAsync(pinned, device, bytes, cudaMemcpyDeviceToHost, stream));
	});
	measure("[GPU_Memcpy DtoD]", [&] {
		GPU_CHECK(cudaMemcpyAsync(other, device, large, cudaMemcpyDeviceToDevice, stream));
	});
	measure("[GPU_Memset]", [&] { GPU_CHECK(cudaMemsetAsync(device, 1, large, stream)); });
	use_managed();
	return 0;
}
