/* SPDX-License-Identifier: MIT */
/*
 * clock_is_set: the wall clock, and CUPTI's with it, is set back, forward, and back again between
 * launches; on the stand-ins only.
 */
#include "host.h"

#include <dlfcn.h>

GPU_KERNEL(tiny)

static long launches;

NOINLINE static void launch_some()
{
	for (int i = 0; i < 100; i++, launches++)
		GPU_CHECK(GPU_LAUNCH(nullptr, 1000, tiny));
	GPU_CHECK(cudaDeviceSynchronize());
}

int main()
{
	static const int steps[] = {-600, 1200, -600, -5};
	void (*set_clock)(int64_t ns);
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);

	HOST_CHECK(driver);
	*(void **)&set_clock = dlsym(driver, "fake_cuda_set_clock");
	launch_some();
	for (int step : steps) {
		if (set_clock)
			set_clock(step * (int64_t)1000000000);
		launch_some();
		usleep(step == 1200 ? 0 : 1500000); /* with and without a flush in between */
		launch_some();
	}
	printf("launches %ld\n", launches);
	return 0;
}
