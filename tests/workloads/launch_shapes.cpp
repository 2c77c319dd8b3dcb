/* SPDX-License-Identifier: MIT */
/*
 * launch_shapes [LAUNCHES=10] [wait]: kernels in shapes whose use of a GPU of compute
 * capability 9.0 with 132 multiprocessors is known: too few blocks (tiny), one more than a wave
 * (tail), blocks that are no whole warps (odd), and whole waves (full). Each kernel takes 1 ms.
 * With `wait` the program waits for each tiny and each odd one.
 */
#include "gpu.h"

enum { KERNEL_NS = 1000000 };

GPU_KERNEL(tiny_kernel)
GPU_KERNEL(tail_kernel)
GPU_KERNEL(odd_kernel)
GPU_KERNEL(full_kernel)

/* In the function that contains it. */
#define LAUNCH(kernel, blocks, threads, shared)                                              \
	do {                                                                                 \
		gpu_ns ns = KERNEL_NS;                                                       \
		void *arguments[] = {&ns};                                                   \
		GPU_REGISTER(kernel);                                                        \
		GPU_CHECK(cudaLaunchKernel((const void *)static_cast<gpu_kernel_fn>(kernel), \
					   blocks, threads, arguments, shared, 0));          \
	} while (0)

NOINLINE static void launch_tiny()
{
	LAUNCH(tiny_kernel, dim3(4, 8), dim3(16, 16), 0);
}

NOINLINE static void launch_tail()
{
	LAUNCH(tail_kernel, dim3(1057), dim3(256), 0);
}

NOINLINE static void launch_odd()
{
	LAUNCH(odd_kernel, dim3(1320), dim3(33), 0);
}

NOINLINE static void launch_full()
{
	LAUNCH(full_kernel, dim3(264), dim3(512), 100 << 10);
}

int main(int argc, char **argv)
{
	int launches = argc > 1 ? atoi(argv[1]) : 10;

	for (int i = 0; i < launches; i++) {
		launch_tiny();
		if (argc > 2)
			GPU_CHECK(cudaStreamSynchronize(0));
		launch_tail();
		launch_odd();
		if (argc > 2) {
			GPU_CHECK(cudaDeviceSynchronize());
			GPU_CHECK(cudaDeviceSynchronize());
		}
		launch_full();
	}
	GPU_CHECK(cudaDeviceSynchronize());
	return 0;
}
