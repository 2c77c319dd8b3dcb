/* SPDX-License-Identifier: MIT */
/* See late_work.cpp. */
#include "../workloads/gpu.h"

GPU_KERNEL(in_library)

__attribute__((destructor)) static void launch()
{
	int accepted = 0;

	for (int i = 0; i < 10; i++)
		accepted += GPU_LAUNCH(0, 1000, in_library) == cudaSuccess;
	fprintf(stderr, "late_work: library: %d of 10 launches accepted\n", accepted);
}
