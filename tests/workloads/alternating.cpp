/* SPDX-License-Identifier: MIT */
/*
 * Four threads launch one kernel from one function and another from another, in turn, and set a
 * byte in a third, until the program is ended. They are nearly always within a launch, so whoever
 * leaves the program leaves them there: on a GPU because their streams are full, on the stand-ins
 * with FAKE_CUDA_LAUNCH_NS.
 */
#include "gpu.h"

#include <pthread.h>
#include <unistd.h>

#ifdef __CUDACC__
enum { KERNEL_NS = 100000, PAUSE_US = 0 };
#else
enum { KERNEL_NS = 1000, PAUSE_US = 20 };
#endif

GPU_KERNEL(one)
GPU_KERNEL(two)

static void pause_a_little()
{
	if (PAUSE_US > 0)
		usleep(PAUSE_US);
}

NOINLINE static void call_one(cudaStream_t stream)
{
	GPU_CHECK(GPU_LAUNCH(stream, KERNEL_NS, one));
	pause_a_little();
}

NOINLINE static void call_two(cudaStream_t stream)
{
	GPU_CHECK(GPU_LAUNCH(stream, KERNEL_NS, two));
	pause_a_little();
}

NOINLINE static void call_set(cudaStream_t stream, void *memory)
{
	GPU_CHECK(cudaMemsetAsync(memory, 0, 1, stream));
	pause_a_little();
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
