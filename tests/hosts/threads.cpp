/* SPDX-License-Identifier: MIT */
/*
 * threads [THREADS=1200] [LAUNCHES=30]: each thread launches so often, and none ends before all
 * have launched: CUPTI holds a buffer for each.
 */
#include "host.h"

#include <pthread.h>
#include <vector>

GPU_KERNEL(tiny)

static long launches;
static pthread_barrier_t everybody;

NOINLINE static void launch()
{
	GPU_CHECK(GPU_LAUNCH(nullptr, 1000, tiny));
}

static void *thread_main(void *)
{
	pthread_barrier_wait(&everybody);
	for (long i = 0; i < launches; i++)
		launch();
	pthread_barrier_wait(&everybody);
	return nullptr;
}

int main(int argc, char **argv)
{
	unsigned int count = argc > 1 ? (unsigned int)atoi(argv[1]) : 1200;
	std::vector<pthread_t> threads(count);

	launches = argc > 2 ? atol(argv[2]) : 30;
	pthread_barrier_init(&everybody, nullptr, count);
	for (auto &thread : threads)
		HOST_CHECK(pthread_create(&thread, nullptr, thread_main, nullptr) == 0);
	for (auto thread : threads)
		pthread_join(thread, nullptr);
	GPU_CHECK(cudaDeviceSynchronize());
	printf("launches %ld\n", count * launches);
	return 0;
}
