/* SPDX-License-Identifier: MIT */
/*
 * Kernels that launch kernels (dynamic parallelism): CUPTI's report of the children decides what a
 * profile can show. Prints the parents' time by CUDA events, children included.
 */
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

__device__ static void spin(long long cycles)
{
	long long start = clock64();

	while (clock64() - start < cycles)
		;
}

__global__ void child(long long cycles)
{
	spin(cycles);
}

__global__ void parent(long long cycles)
{
	child<<<1, 1>>>(cycles);
}

__global__ void after(long long cycles)
{
	spin(cycles);
}

int main()
{
	cudaEvent_t before, done;
	float ms;

	cudaEventCreate(&before);
	cudaEventCreate(&done);
	parent<<<1, 1>>>(1000);
	cudaDeviceSynchronize();
	cudaEventRecord(before);
	for (int i = 0; i < 20; i++)
		parent<<<1, 1>>>(1000000);
	cudaEventRecord(done);
	cudaDeviceSynchronize();
	cudaEventElapsedTime(&ms, before, done);
	after<<<1, 1>>>(1000);
	printf("parents %d events_ns %.0f error %d\n", 21, ms * 1e6, (int)cudaDeviceSynchronize());
	return 0;
}
