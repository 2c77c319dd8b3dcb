/* SPDX-License-Identifier: MIT */
/* See late_work.cpp. */
#include "../workloads/gpu.h"

GPU_KERNEL(in_library)

__attribute__((destructor)) static void launch()
{
	for (int i = 0; i < 10; i++)
		GPU_CHECK(GPU_LAUNCH(0, 1000, in_library));
}
