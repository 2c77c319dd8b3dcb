/* SPDX-License-Identifier: MIT */
/*
 * driver_api [N=100]: N launches each of two kernels through cuLaunchKernel and cuLaunchKernelEx.
 * Never touches the runtime; opens libcuda.so.1 itself, as Triton and CuPy do. The same program
 * runs on a real GPU.
 */
#include "ptx.h"
#include "../fake_cuda/fake_cuda.h"
#include "../fake_cuda/cuda_driver_subset.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#define NOINLINE __attribute__((noinline, noclone))

enum { SPIN_NS = 100000, WAIT_NS = 30000 };

/* The driver's functions, by their exported names. */
#define DRIVER_FUNCTIONS(X)         \
	X(cuInit)                   \
	X(cuDeviceGet)              \
	X(cuDevicePrimaryCtxRetain) \
	X(cuCtxSetCurrent)          \
	X(cuCtxSynchronize)         \
	X(cuStreamCreate)           \
	X(cuStreamDestroy_v2)       \
	X(cuModuleLoadData)         \
	X(cuModuleGetFunction)      \
	X(cuLaunchKernel)           \
	X(cuLaunchKernelEx)

static struct {
#define X(name) decltype(&::name) name;
	DRIVER_FUNCTIONS(X)
#undef X
} cu;

#define CHECK(call)                                                                   \
	do {                                                                          \
		int check_error = (call);                                             \
		if (check_error) {                                                    \
			fprintf(stderr, "%s:%d: CUDA error %d\n", __FILE__, __LINE__, \
				check_error);                                         \
			exit(2);                                                      \
		}                                                                     \
	} while (0)

static void load_driver()
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);

	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		exit(2);
	}
#define X(name)                                                     \
	cu.name = (decltype(cu.name))dlsym(library, #name);         \
	if (!cu.name) {                                             \
		fprintf(stderr, "libcuda.so.1 has no %s\n", #name); \
		exit(2);                                            \
	}
	DRIVER_FUNCTIONS(X)
#undef X
}

NOINLINE static void launch_spin(CUfunction f, CUstream stream)
{
	uint64_t ns = SPIN_NS;
	void *params[] = {&ns};

	CHECK(cu.cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, stream, params, nullptr));
}

NOINLINE static void launch_wait(CUfunction f, CUstream stream)
{
	uint64_t ns = WAIT_NS;
	void *params[] = {&ns};
	CUlaunchConfig config = {{1, 1, 1}, {1, 1, 1}, 0, stream, nullptr, 0};

	CHECK(cu.cuLaunchKernelEx(&config, f, params, nullptr));
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 100;
	CUfunction spin, wait;
	CUcontext context;
	CUdevice device;
	CUmodule module;
	CUstream stream;

	load_driver();
	CHECK(cu.cuInit(0));
	CHECK(cu.cuDeviceGet(&device, 0));
	CHECK(cu.cuDevicePrimaryCtxRetain(&context, device));
	CHECK(cu.cuCtxSetCurrent(context));
	CHECK(cu.cuModuleLoadData(&module, PTX_MODULE));
	CHECK(cu.cuModuleGetFunction(&spin, module, "driver_spin"));
	CHECK(cu.cuModuleGetFunction(&wait, module, "driver_wait"));
	CHECK(cu.cuStreamCreate(&stream, 1));
	for (int i = 0; i < n; i++) {
		launch_spin(spin, stream);
		launch_wait(wait, stream);
	}
	CHECK(cu.cuCtxSynchronize());
	CHECK(cu.cuStreamDestroy_v2(stream));
	printf("driver_spin %d %d driver_wait %d %d\n", n, n * SPIN_NS, n, n * WAIT_NS);
	return 0;
}
