/* SPDX-License-Identifier: MIT */
/*
 * stalled: a kernel is first launched while the profiler has been stopped for so long that nobody
 * waits for it, and again when it is back.
 */
#include "host.h"

GPU_KERNEL(before)
GPU_KERNEL(during)

static long launches;

NOINLINE static void launch_before(long n)
{
	for (; n > 0; n--, launches++)
		GPU_CHECK(GPU_LAUNCH(nullptr, 1000, before));
	GPU_CHECK(cudaDeviceSynchronize());
}

NOINLINE static void launch_during(long n)
{
	for (; n > 0; n--, launches++)
		GPU_CHECK(GPU_LAUNCH(nullptr, 1000, during));
	GPU_CHECK(cudaDeviceSynchronize());
}

int main()
{
	struct host_profiler profiler;

	profiler.keep_alive();
	launch_before(10);
	profiler.stop();
	launch_before(300000); /* more than pipe and rings hold: waits, then goes on */
	launch_during(1000);
	sleep(1); /* its records, too, are flushed, and given up */
	profiler.go_on();
	sleep(1);
	launch_during(1000);
	launch_before(1000);
	printf("launches %ld\n", launches);
	return 0;
}
