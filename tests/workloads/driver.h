/* SPDX-License-Identifier: MIT */
/*
 * The driver API for workloads: opened from libcuda.so.1, as Triton and CuPy do, and called through
 * the table `cu`. A program lists what it calls, besides what start_driver does, before it includes
 * this:
 *
 *	#define DRIVER_FUNCTIONS(X) X(cuLaunchKernel)
 */
#ifndef TESTS_WORKLOADS_DRIVER_H
#define TESTS_WORKLOADS_DRIVER_H

#ifdef __CUDACC__
#include <cuda.h>
#else
#include "../fake_cuda/cuda_driver_subset.h"
#endif

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#ifndef DRIVER_FUNCTIONS
#define DRIVER_FUNCTIONS(X)
#endif
#define START_FUNCTIONS(X) X(cuInit) X(cuDeviceGet) X(cuDevicePrimaryCtxRetain) X(cuCtxSetCurrent)

/* The driver's functions, by their exported names. */
static struct {
#define X(name) decltype(&::name) name;
	START_FUNCTIONS(X)
	DRIVER_FUNCTIONS(X)
#undef X
} cu;

/* Ends the program with status 2 and a message if a driver call fails. */
#define DRIVER_CHECK(call)                                                            \
	do {                                                                          \
		int check_error = (call);                                             \
		if (check_error) {                                                    \
			fprintf(stderr, "%s:%d: CUDA error %d\n", __FILE__, __LINE__, \
				check_error);                                         \
			exit(2);                                                      \
		}                                                                     \
	} while (0)

static inline void load_driver()
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
	START_FUNCTIONS(X)
	DRIVER_FUNCTIONS(X)
#undef X
}

/* Opens the driver, and makes the first device's primary context current: that context. */
static inline CUcontext start_driver()
{
	CUcontext context;
	CUdevice device;

	load_driver();
	DRIVER_CHECK(cu.cuInit(0));
	DRIVER_CHECK(cu.cuDeviceGet(&device, 0));
	DRIVER_CHECK(cu.cuDevicePrimaryCtxRetain(&context, device));
	DRIVER_CHECK(cu.cuCtxSetCurrent(context));
	return context;
}

#endif
