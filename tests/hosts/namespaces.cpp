/* SPDX-License-Identifier: MIT */
/*
 * namespaces: loads libcuda once as usual and three times into a namespace of the loader of its own
 * (dlmopen), each with a C library whose exit handlers nobody calls, and launches through each. On
 * the stand-ins only.
 */
#include "../fake_cuda/cuda_driver_subset.h"
#include "../workloads/ptx.h"
#include "host.h"

#include <dlfcn.h>

enum { NAMESPACES = 3, EACH = 100 };

static long launches;

static void check(int error)
{
	if (error) {
		fprintf(stderr, "CUDA error %d\n", error);
		exit(2);
	}
}

template <typename T> static void find(void *library, const char *name, T **function)
{
	*(void **)function = dlsym(library, name);
	HOST_CHECK(*function);
}

#define FIND(library, name)           \
	decltype(::name) *name##_ptr; \
	find(library, #name, &name##_ptr)

NOINLINE static void use(void *library)
{
	CUcontext context;
	CUdevice device;
	CUfunction kernel;
	CUmodule module;
	uint64_t ns = 1000;
	void *params[] = {&ns};

	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		exit(2);
	}
	FIND(library, cuInit);
	FIND(library, cuDeviceGet);
	FIND(library, cuDevicePrimaryCtxRetain);
	FIND(library, cuCtxSetCurrent);
	FIND(library, cuModuleLoadData);
	FIND(library, cuModuleGetFunction);
	FIND(library, cuLaunchKernel);
	FIND(library, cuCtxSynchronize);
	check(cuInit_ptr(0));
	check(cuDeviceGet_ptr(&device, 0));
	check(cuDevicePrimaryCtxRetain_ptr(&context, device));
	check(cuCtxSetCurrent_ptr(context));
	check(cuModuleLoadData_ptr(&module, PTX_MODULE));
	check(cuModuleGetFunction_ptr(&kernel, module, "driver_spin"));
	for (int i = 0; i < EACH; i++, launches++)
		check(cuLaunchKernel_ptr(kernel, 1, 1, 1, 1, 1, 1, 0, nullptr, params, nullptr));
	check(cuCtxSynchronize_ptr());
}

int main()
{
	use(dlopen("libcuda.so.1", RTLD_NOW));
	for (int i = 0; i < NAMESPACES; i++)
		use(dlmopen(LM_ID_NEWLM, "libcuda.so.1", RTLD_NOW | RTLD_LOCAL));
	printf("launches %ld\n", launches);
	return 0;
}
