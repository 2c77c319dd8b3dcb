/* SPDX-License-Identifier: MIT */
/* first_thread_ends: the process goes on without its first thread, and only then starts CUDA. */
#include "host.h"

#include <pthread.h>

GPU_KERNEL(tiny)

enum { LAUNCHES = 300 };

static pthread_t first;

NOINLINE static void launch_alone()
{
	GPU_CHECK(GPU_LAUNCH(nullptr, 1000, tiny));
	asm volatile("");
}

NOINLINE static void *go_on(void *)
{
	HOST_CHECK(pthread_join(first, nullptr) == 0);
	while (read_field("/proc/self/status", "State").substr(0, 1) != "Z")
		usleep(1000);
	for (int i = 0; i < LAUNCHES; i++)
		launch_alone();
	GPU_CHECK(cudaDeviceSynchronize());
	printf("launches %d\n", LAUNCHES);
	exit(0);
}

int main()
{
	pthread_t thread;

	first = pthread_self();
	HOST_CHECK(pthread_create(&thread, nullptr, go_on, nullptr) == 0);
	pthread_exit(nullptr);
}
