/* SPDX-License-Identifier: MIT */
/*
 * stopped [TIMES=5]: the profiler is stopped, and goes on after a moment, while two threads launch.
 */
#include "host.h"

#include <atomic>
#include <pthread.h>

GPU_KERNEL(tiny)

static std::atomic<bool> ends;
static long launches;

NOINLINE static void *launch_on(void *)
{
	long count = 0;

	for (; !ends; count++)
		GPU_CHECK(GPU_LAUNCH(nullptr, 1000, tiny));
	__atomic_fetch_add(&launches, count, __ATOMIC_RELAXED);
	return nullptr;
}

int main(int argc, char **argv)
{
	int times = argc > 1 ? atoi(argv[1]) : 5;
	struct host_profiler profiler;
	pthread_t threads[2];

	profiler.keep_alive();
	GPU_CHECK(cudaDeviceSynchronize());
	for (auto &thread : threads)
		HOST_CHECK(pthread_create(&thread, nullptr, launch_on, nullptr) == 0);
	for (int i = 0; i < times; i++) {
		profiler.stop();
		usleep(200000);
		profiler.go_on();
		usleep(50000);
	}
	ends = true;
	for (auto thread : threads)
		pthread_join(thread, nullptr);
	GPU_CHECK(cudaDeviceSynchronize());
	printf("launches %ld\n", launches);
	return 0;
}
