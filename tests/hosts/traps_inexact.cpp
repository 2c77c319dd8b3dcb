/* SPDX-License-Identifier: MIT */
/*
 * traps_inexact: floating-point exceptions end it, that of an inexact result too, and threads that
 * it or CUDA starts have the same mode. None has occurred in it at its end.
 */
#include "host.h"

#include <fenv.h>

GPU_KERNEL(tiny)

int main()
{
	enum { LAUNCHES = 20000 };

	HOST_CHECK(feenableexcept(FE_ALL_EXCEPT) != -1);
	GPU_CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < LAUNCHES; i++)
		GPU_CHECK(GPU_LAUNCH(nullptr, 1000, tiny));
	usleep(300000); /* records come in the background */
	GPU_CHECK(cudaDeviceSynchronize());
	HOST_CHECK(fetestexcept(FE_ALL_EXCEPT) == 0 && fegetexcept() == FE_ALL_EXCEPT);
	printf("launches %d\n", LAUNCHES);
	return 0;
}
