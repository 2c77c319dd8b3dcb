/* SPDX-License-Identifier: MIT */
/*
 * Four threads launch one kernel from one function and another from another, in turn, and set a
 * byte in a third, until the program is ended. With FAKE_CUDA_LAUNCH_NS they are nearly always
 * within a launch, so whoever leaves the program leaves it there.
 */
#include "gpu.h"

#include <pthread.h>
#include <unistd.h>

GPU_KERNEL(one)
GPU_KERNEL(two)

NOINLINE static void call_one(cudaStream_t stream)
{
	GPU_CHECK(GPU_LAUNCH(stream, 1000, one));
	usleep(20);
}

NOINLINE static void call_two(cudaStream_t stream)
{
	GPU_CHECK(GPU_LAUNCH(stream, 1000, two));
	usleep(20);
}

NOINLINE static void call_set(cudaStream_t stream, void *memory)
{
	GPU_CHECK(cudaMemsetAsync(memory, 0, 1, stream));
	usleep(20);
}

static void *launch_in_turn(void *)
{
	cudaStream_t stream;
	void *memory;

	GPU_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	GPU_CHECK(cudaMalloc(&memory, 1));
	for (;;) {
		call_one(stream);
		call_two(stream);
		call_set(stream, memory);
	}
	return nullptr;
}

int main()
{
	pthread_t thread;

	GPU_CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < 4; i++)
		if (pthread_create(&thread, nullptr, launch_in_turn, nullptr) != 0)
			return 1;
	for (;;)
		pause();
}
