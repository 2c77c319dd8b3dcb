/* SPDX-License-Identifier: MIT */
/* A library of kernels, PLUGIN_KERNEL and PLUGIN_FUNCTION: see unloaded.cpp. */
#ifndef TESTS_HOSTS_UNLOADED_PLUGIN_H
#define TESTS_HOSTS_UNLOADED_PLUGIN_H

#include "../workloads/gpu.h"

GPU_KERNEL(PLUGIN_KERNEL)

#ifndef __CUDACC__
/* As nvcc's code does. */
__attribute__((destructor)) static void unregister()
{
	__cudaUnregisterFatBinary(gpu_registration<PLUGIN_KERNEL>::handle);
}
#endif

/* The last is still queued when it returns. */
NOINLINE static int PLUGIN_FUNCTION()
{
	for (int i = 0; i < 10; i++)
		GPU_CHECK(GPU_LAUNCH(nullptr, 100000, PLUGIN_KERNEL));
	return 10;
}

extern "C" int launch_all();

extern "C" int launch_all()
{
	return PLUGIN_FUNCTION();
}

#endif
