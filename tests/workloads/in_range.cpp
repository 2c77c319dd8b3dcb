/* SPDX-License-Identifier: MIT */
/*
 * in_range [ROUNDS=2] [open]: ROUNDS times 3 kernels of 1000 ns and 100 ms of CPU time, and then,
 * between cudaProfilerStart and cudaProfilerStop, 5 kernels by another thread and 100 ms of CPU
 * time; at the end 7 kernels. Starts and stops twice each time: the second has no effect. "open":
 * the last round is not stopped, and neither are there the kernels at the end.
 */
#include "gpu.h"
#include "burn.h"
#ifdef __CUDACC__
#include <cuda_profiler_api.h>
#endif

#include <string.h>
#include <thread>

GPU_KERNEL(outside)
GPU_KERNEL(inside)

static cudaStream_t stream;

NOINLINE static void launch_outside(int count)
{
	for (int i = 0; i < count; i++)
		GPU_CHECK(GPU_LAUNCH(stream, 1000, outside));
}

NOINLINE static void launch_inside()
{
	for (int i = 0; i < 5; i++)
		GPU_CHECK(GPU_LAUNCH(stream, 1000, inside));
}

NOINLINE static void burn_outside()
{
	burn(100000000);
}

NOINLINE static void burn_inside()
{
	burn(100000000);
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 2;
	bool stays_open = argc > 2 && strcmp(argv[2], "open") == 0;

	GPU_CHECK(cudaStreamCreate(&stream));
	for (int i = 0; i < rounds; i++) {
		launch_outside(3);
		burn_outside();
		GPU_CHECK(cudaProfilerStart());
		GPU_CHECK(cudaProfilerStart());
		std::thread(launch_inside).join();
		burn_inside();
		if (stays_open && i + 1 == rounds)
			break;
		GPU_CHECK(cudaProfilerStop());
		GPU_CHECK(cudaProfilerStop());
	}
	if (!stays_open)
		launch_outside(7);
	GPU_CHECK(cudaStreamSynchronize(stream));
	return 0;
}
