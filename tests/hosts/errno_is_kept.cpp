/* SPDX-License-Identifier: MIT */
/*
 * errno_is_kept: launches that find the pipe full, or come from new stacks, leave errno as it was.
 */
#include "host.h"

#include <pthread.h>

GPU_KERNEL(tiny)

enum { MARK = 4711 };

static long launches;

static void launch()
{
	errno = MARK;
	GPU_CHECK(GPU_LAUNCH(nullptr, 1000, tiny));
	HOST_CHECK(errno == MARK);
	launches++;
}

static void *let_go_on(void *profiler)
{
	sleep(1);
	((struct host_profiler *)profiler)->go_on();
	return nullptr;
}

int main()
{
	struct host_profiler profiler;
	pthread_t thread;

	profiler.keep_alive();
	GPU_CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < 200; i++)
		call_at_depth(i, launch);
	profiler.stop();
	HOST_CHECK(pthread_create(&thread, nullptr, let_go_on, &profiler) == 0);
	for (int i = 0; i < 300000; i++)
		launch();
	pthread_join(thread, nullptr);
	GPU_CHECK(cudaDeviceSynchronize());
	printf("launches %ld\n", launches);
	return 0;
}
