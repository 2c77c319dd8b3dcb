/* SPDX-License-Identifier: MIT */
/*
 * short_threads [THREADS=10000]: so many threads, each of which launches once and ends; 20 at a
 * time.
 */
#include "host.h"

#include <pthread.h>

GPU_KERNEL(from_short_thread)

static void *launch(void *argument)
{
	GPU_CHECK(GPU_LAUNCH(nullptr, 1000, from_short_thread));
	return argument;
}

int main(int argc, char **argv)
{
	long count = argc > 1 ? atol(argv[1]) : 10000, started = 0;
	pthread_t threads[20];
	long kb;

	GPU_CHECK(cudaDeviceSynchronize());
	kb = resident_kb();
	while (started < count) {
		int n = 0;

		for (; n < 20 && started < count; n++, started++)
			HOST_CHECK(pthread_create(&threads[n], nullptr, launch, nullptr) == 0);
		while (n > 0)
			pthread_join(threads[--n], nullptr);
	}
	fprintf(stderr, "short_threads: %.2f kB left by each thread\n",
		(double)(resident_kb() - kb) / (double)count);
	GPU_CHECK(cudaDeviceSynchronize());
	printf("launches %ld\n", count);
	return 0;
}
