/* SPDX-License-Identifier: MIT */
/*
 * newer_cuda [N=10]: a program for a CUDA newer than the profiler, of which the stand-ins have
 * three made-up functions. N times each: a kernel by cuLaunchKernelNext, a copy by
 * cuMemcpyHtoDAsync_v4, and cuTransformAsync, of which CUPTI records a set.
 */
#include "ptx.h"

#define DRIVER_FUNCTIONS(X)     \
	X(cuCtxSynchronize)     \
	X(cuStreamCreate)       \
	X(cuModuleLoadData)     \
	X(cuModuleGetFunction)  \
	X(cuMemAlloc_v2)        \
	X(cuMemFree_v2)         \
	X(cuLaunchKernelNext)   \
	X(cuMemcpyHtoDAsync_v4) \
	X(cuTransformAsync)
#include "driver.h"

#define NOINLINE __attribute__((noinline, noclone))

enum { SPIN_NS = 100000, BYTES = 4096 };

NOINLINE static void launch(CUfunction f, CUstream stream)
{
	uint64_t ns = SPIN_NS;
	void *params[] = {&ns};

	DRIVER_CHECK(cu.cuLaunchKernelNext(f, 1, 1, 1, 1, 1, 1, 0, stream, params, nullptr));
}

NOINLINE static void copy(CUdeviceptr to, CUstream stream)
{
	static char from[BYTES];

	DRIVER_CHECK(cu.cuMemcpyHtoDAsync_v4(to, from, BYTES, stream));
}

NOINLINE static void transform(CUdeviceptr to, CUstream stream)
{
	DRIVER_CHECK(cu.cuTransformAsync(to, 1, BYTES, stream));
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 10;
	CUdeviceptr memory;
	CUfunction spin;
	CUmodule module;
	CUstream stream;

	start_driver();
	DRIVER_CHECK(cu.cuModuleLoadData(&module, PTX_MODULE));
	DRIVER_CHECK(cu.cuModuleGetFunction(&spin, module, "driver_spin"));
	DRIVER_CHECK(cu.cuStreamCreate(&stream, 1));
	DRIVER_CHECK(cu.cuMemAlloc_v2(&memory, BYTES));
	for (int i = 0; i < n; i++) {
		launch(spin, stream);
		copy(memory, stream);
		transform(memory, stream);
	}
	DRIVER_CHECK(cu.cuCtxSynchronize());
	DRIVER_CHECK(cu.cuMemFree_v2(memory));
	printf("kernels %d copies %d sets %d\n", n, n, n);
	return 0;
}
