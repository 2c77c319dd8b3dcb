/* SPDX-License-Identifier: MIT */
/*
 * modules FILE [COUNT=20] [stopped]: maps new code (the library FILE, which it unmaps again), then
 * loads a module of device code and launches its kernel; so many times. If "stopped" the profiler
 * is stopped meanwhile, but not before the first and not from the last ten on.
 *
 * Prints on stderr how many us a module took to load, at most.
 */
#include "../workloads/ptx.h"
#include "../fake_cuda/fake_cuda.h"

#define DRIVER_FUNCTIONS(X)    \
	X(cuCtxSynchronize)    \
	X(cuModuleLoadData)    \
	X(cuModuleGetFunction) \
	X(cuLaunchKernel)
#include "../workloads/driver.h"
#include "host.h"

#include <time.h>

static double now_us()
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

int main(int argc, char **argv)
{
	int count = argc > 2 ? atoi(argv[2]) : 20;
	bool stops = argc > 3 && strcmp(argv[3], "stopped") == 0;
	struct host_profiler profiler;
	double longest = 0;

	if (stops)
		profiler.keep_alive();
	start_driver();
	for (int i = 0; i < count; i++) {
		void *library = dlopen(argv[1], RTLD_NOW);
		uint64_t ns = 1000;
		void *params[] = {&ns};
		CUfunction function;
		CUmodule module;
		double start, took;

		if (stops && i == 1)
			profiler.stop();
		if (stops && i == count - 10)
			profiler.go_on();
		if (!library)
			return 1;
		start = now_us();
		DRIVER_CHECK(cu.cuModuleLoadData(&module, PTX_MODULE));
		took = now_us() - start;
		longest = took > longest ? took : longest;
		DRIVER_CHECK(cu.cuModuleGetFunction(&function, module, "driver_spin"));
		DRIVER_CHECK(
			cu.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, params, nullptr));
		dlclose(library);
	}
	DRIVER_CHECK(cu.cuCtxSynchronize());
	fprintf(stderr, "modules: a module took %.0f us to load at most\n", longest);
	printf("launches %d\n", count);
	return 0;
}
