/* SPDX-License-Identifier: MIT */
/*
 * device_reset [N=100]: N launches, cudaDeviceReset, N launches in the new context; twice over.
 * Records that are not delivered before the reset are lost, so this shows a tracer that is late.
 */
#include "gpu.h"

GPU_KERNEL(before_reset)
GPU_KERNEL(after_reset)

enum { KERNEL_NS = 20000 };

NOINLINE static void launch_before_reset(int n)
{
	for (int i = 0; i < n; i++)
		GPU_CHECK(GPU_LAUNCH(nullptr, KERNEL_NS, before_reset));
}

NOINLINE static void launch_after_reset(int n)
{
	for (int i = 0; i < n; i++)
		GPU_CHECK(GPU_LAUNCH(nullptr, KERNEL_NS, after_reset));
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 100;

	for (int round = 0; round < 2; round++) {
		launch_before_reset(n);
		/* No synchronisation: the reset itself waits for the kernels. */
		GPU_CHECK(cudaDeviceReset());
		launch_after_reset(n);
		GPU_CHECK(cudaDeviceSynchronize());
	}
	printf("before_reset %d after_reset %d\n", 2 * n, 2 * n);
	return 0;
}
