/* SPDX-License-Identifier: MIT */
/*
 * busy_to_the_end [THREADS=2]: threads that launch as fast as they can, and do not stop when main
 * returns: they are cut off somewhere when the process ends. The destructor of a static object
 * leaves them 20 ms for it.
 */
#include "../workloads/gpu.h"

#include <pthread.h>
#include <unistd.h>

GPU_KERNEL(without_end)

struct late {
	~late()
	{
		usleep(20000);
	}
};
static late late;

static void *launch(void *arg)
{
	cudaStream_t stream;

	GPU_CHECK(cudaStreamCreate(&stream));
	while (GPU_LAUNCH(stream, 100, without_end) == cudaSuccess)
		;
	return arg; /* CUDA is shutting down */
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 2;

	GPU_CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < threads; i++) {
		pthread_t thread;

		if (pthread_create(&thread, nullptr, launch, nullptr))
			return 1;
	}
	usleep(50000);
	puts("done");
	return 0;
}
