/* SPDX-License-Identifier: MIT */
/*
 * thread_ends [THREADS=200]: threads that launch while they end: in destructors of thread_local
 * objects, and in those of pthread keys, which set their key again as often as that is followed.
 *
 * Prints on stderr how many kB each thread left in memory.
 */
#include "host.h"

#include <limits.h>
#include <pthread.h>

GPU_KERNEL(from_thread)
GPU_KERNEL(from_object)
GPU_KERNEL(from_key)

enum { KEYS = 3 };

static long launches;
static pthread_key_t keys[KEYS];

struct launching {
	int count = 0;

	~launching()
	{
		for (int i = 0; i < count; i++, launches++)
			GPU_CHECK(GPU_LAUNCH(nullptr, 1000, from_object));
	}
};
static thread_local launching object;

NOINLINE static void at_thread_end(void *key)
{
	GPU_CHECK(GPU_LAUNCH(nullptr, 1000, from_key));
	launches++;
	pthread_setspecific(*(pthread_key_t *)key, key);
}

static void *thread_main(void *number)
{
	/* some launch for the first time when they end */
	if ((intptr_t)number % 2 == 0) {
		GPU_CHECK(GPU_LAUNCH(nullptr, 1000, from_thread));
		launches++;
	}
	object.count = 2;
	for (auto &key : keys)
		pthread_setspecific(key, &key);
	return nullptr;
}

static void run_threads(long count)
{
	for (long i = 0; i < count; i++) {
		pthread_t thread;

		HOST_CHECK(pthread_create(&thread, nullptr, thread_main, (void *)i) == 0);
		pthread_join(thread, nullptr);
	}
}

int main(int argc, char **argv)
{
	long threads = argc > 1 ? atol(argv[1]) : 200, before;

	for (auto &key : keys)
		HOST_CHECK(pthread_key_create(&key, at_thread_end) == 0);
	run_threads(threads);
	before = resident_kb();
	run_threads(threads);
	fprintf(stderr, "thread_ends: %.1f kB left by each thread\n",
		(double)(resident_kb() - before) / (double)threads);
	GPU_CHECK(cudaDeviceSynchronize());
	HOST_CHECK(launches ==
		   2 * (threads * (2 + KEYS * PTHREAD_DESTRUCTOR_ITERATIONS) + (threads + 1) / 2));
	printf("launches %ld\n", launches);
	return 0;
}
