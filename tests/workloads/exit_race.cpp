/* SPDX-License-Identifier: MIT */
/*
 * exit_race [THREADS=4] [LAUNCHES=1000]: every thread launches, then all call exit(3) at once, as
 * programs do whose threads find the same error. In glibc one of them may end the process while
 * another is still in an exit handler.
 *
 * Prints what has been launched when all have.
 */
#include "gpu.h"

#include <pthread.h>
#include <unistd.h>

GPU_KERNEL(race_kernel)

static pthread_barrier_t barrier;
static long launches;

static void *launch_and_exit(void *arg)
{
	for (long i = 0; i < launches; i++)
		GPU_CHECK(GPU_LAUNCH(0, 1000, race_kernel));
	if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD) {
		GPU_CHECK(cudaDeviceSynchronize());
		printf("launches %ld\n", launches * (long)(size_t)arg);
		fflush(stdout);
	}
	pthread_barrier_wait(&barrier);
	exit(3);
}

int main(int argc, char **argv)
{
	long threads = argc > 1 ? atol(argv[1]) : 4;

	launches = argc > 2 ? atol(argv[2]) : 1000;
	GPU_REGISTER(race_kernel);
	GPU_CHECK(cudaDeviceSynchronize());
	if (threads < 1 || pthread_barrier_init(&barrier, NULL, (unsigned int)threads))
		return 1;
	for (long i = 0; i < threads; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, launch_and_exit, (void *)(size_t)threads))
			return 2;
	}
	for (;;)
		pause();
}
