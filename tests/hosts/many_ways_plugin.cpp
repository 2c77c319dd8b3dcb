/* SPDX-License-Identifier: MIT */
/* See many_ways.cpp. Linked with a libcudart of its own (rules.mk). */
#include "../workloads/gpu.h"

GPU_KERNEL(in_library)

extern "C" NOINLINE void launch_in_library(int depth)
{
	if (depth > 0)
		launch_in_library(depth - 1);
	else
		GPU_CHECK(GPU_LAUNCH(0, 1000, in_library));
	asm volatile("");
}
