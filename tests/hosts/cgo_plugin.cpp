/* SPDX-License-Identifier: MIT */
/* What cgo.go calls. */
#include "../workloads/gpu.h"

GPU_KERNEL(from_go)

extern "C" void launch_from_go();
extern "C" void launch_below_go(void (*go_on)());
extern "C" void wait_from_go();

extern "C" NOINLINE void launch_from_go()
{
	GPU_CHECK(GPU_LAUNCH(nullptr, 1000, from_go));
}

/* Back into Go, which calls here again: C and Go by turns on two stacks. */
extern "C" NOINLINE void launch_below_go(void (*go_on)())
{
	go_on();
	GPU_CHECK(GPU_LAUNCH(nullptr, 1000, from_go));
}

extern "C" void wait_from_go()
{
	GPU_CHECK(cudaDeviceSynchronize());
}
