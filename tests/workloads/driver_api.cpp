/* SPDX-License-Identifier: MIT */
/*
 * driver_api [N=100] [device_launch]: N launches each of two kernels through cuLaunchKernel and
 * cuLaunchKernelEx. With device_launch the module looks to the stand-in as if its kernels launched
 * others. Never touches the runtime; opens libcuda.so.1 itself, as Triton and CuPy do. The same
 * program runs on a real GPU.
 */
#include "ptx.h"
#include "../fake_cuda/fake_cuda.h"

#define DRIVER_FUNCTIONS(X)    \
	X(cuCtxSynchronize)    \
	X(cuStreamCreate)      \
	X(cuStreamDestroy_v2)  \
	X(cuModuleLoadData)    \
	X(cuModuleGetFunction) \
	X(cuLaunchKernel)      \
	X(cuLaunchKernelEx)
#include "driver.h"

#define NOINLINE __attribute__((noinline, noclone))

enum { SPIN_NS = 100000, WAIT_NS = 30000 };

NOINLINE static void launch_spin(CUfunction f, CUstream stream)
{
	uint64_t ns = SPIN_NS;
	void *params[] = {&ns};

	DRIVER_CHECK(cu.cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, stream, params, nullptr));
}

NOINLINE static void launch_wait(CUfunction f, CUstream stream)
{
	uint64_t ns = WAIT_NS;
	void *params[] = {&ns};
	CUlaunchConfig config = {{1, 1, 1}, {1, 1, 1}, 0, stream, nullptr, 0};

	DRIVER_CHECK(cu.cuLaunchKernelEx(&config, f, params, nullptr));
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 100;
	CUfunction spin, wait;
	CUmodule module;
	CUstream stream;

	start_driver();
	DRIVER_CHECK(cu.cuModuleLoadData(
		&module, argc > 2 ? PTX_MODULE "// __cudaCDP2LaunchDeviceV2\n" : PTX_MODULE));
	DRIVER_CHECK(cu.cuModuleGetFunction(&spin, module, "driver_spin"));
	DRIVER_CHECK(cu.cuModuleGetFunction(&wait, module, "driver_wait"));
	DRIVER_CHECK(cu.cuStreamCreate(&stream, 1));
	for (int i = 0; i < n; i++) {
		launch_spin(spin, stream);
		launch_wait(wait, stream);
	}
	DRIVER_CHECK(cu.cuCtxSynchronize());
	DRIVER_CHECK(cu.cuStreamDestroy_v2(stream));
	printf("driver_spin %d %d driver_wait %d %d\n", n, n * SPIN_NS, n, n * WAIT_NS);
	return 0;
}
