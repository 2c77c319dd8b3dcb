/* SPDX-License-Identifier: MIT */
/*
 * Kernels of known duration, for a real GPU (nvcc) and for the stand-ins (g++) alike.
 *
 *	GPU_KERNEL(embed)                              // a kernel of a given duration
 *	template <typename T> GPU_KERNEL(softmax)      // arguments of built-in types only
 *	GPU_CHECK(GPU_LAUNCH(stream, 50000, softmax<float>)); // 50 us
 *
 * GPU_LAUNCH is a call of cudaLaunchKernel in the function that contains it, in both builds: no
 * helper's frame lies between. Kernels have the same mangled names in both builds.
 */
#ifndef TESTS_WORKLOADS_GPU_H
#define TESTS_WORKLOADS_GPU_H

#include <stdio.h>
#include <stdlib.h>

#define NOINLINE __attribute__((noinline, noclone))

typedef unsigned long long gpu_ns;
typedef void (*gpu_kernel_fn)(gpu_ns);

#ifdef __CUDACC__

#include <cuda_runtime.h>

__device__ static inline gpu_ns gpu_timer()
{
	gpu_ns now;

	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
	return now;
}

#define GPU_KERNEL(name)                         \
	__global__ void name(gpu_ns ns)          \
	{                                        \
		gpu_ns until = gpu_timer() + ns; \
		while (gpu_timer() < until)      \
			;                        \
	}

#define GPU_REGISTER(...) ((void)0)

#else

#include "../fake_cuda/cuda_runtime_subset.h"

#include <string>
#include <typeinfo>

#define GPU_KERNEL(name)                                                                       \
	NOINLINE void name(gpu_ns ns)                                                          \
	{                                                                                      \
		asm volatile("" : : "r"(ns), "i"(__COUNTER__)); /* only its address is used */ \
	}

template <gpu_kernel_fn Kernel> struct gpu_tag {
};

/*
 * Registers a kernel before main, as nvcc's code does. Its mangled name is that of the host stub,
 * which the mangled name of gpu_tag<stub> contains: "7gpu_tagIXadL" name "EEE".
 */
template <gpu_kernel_fn Kernel> struct gpu_registration {
	static const bool done;
	static void **handle;

	static bool run()
	{
		static const unsigned int fatbin[2] = {FAKE_CUDA_FATBIN_MAGIC, 0};
		std::string tag = typeid(gpu_tag<Kernel>).name();
		size_t at = tag.find("adL_Z");
		std::string name = tag.substr(at + 3, tag.size() - at - 6);

		handle = __cudaRegisterFatBinary((void *)fatbin);
		__cudaRegisterFunction(handle, (const char *)Kernel, (char *)Kernel, name.c_str(),
				       -1, nullptr, nullptr, nullptr, nullptr, nullptr);
		__cudaRegisterFatBinaryEnd(handle);
		return true;
	}
};
template <gpu_kernel_fn Kernel> void **gpu_registration<Kernel>::handle;
template <gpu_kernel_fn Kernel>
const bool gpu_registration<Kernel>::done = gpu_registration<Kernel>::run();

#define GPU_REGISTER(...) ((void)&gpu_registration<__VA_ARGS__>::done)

#endif

/* The kernel comes last: template arguments may hold commas. */
#define GPU_LAUNCH(stream, ns, ...) GPU_LAUNCH_BY(cudaLaunchKernel, stream, ns, __VA_ARGS__)

#define GPU_LAUNCH_BY(function, stream, ns, ...)                                                  \
	({                                                                                        \
		gpu_ns gpu_ns_ = (ns);                                                            \
		void *gpu_args_[] = {&gpu_ns_};                                                   \
		GPU_REGISTER(__VA_ARGS__);                                                        \
		function((const void *)static_cast<gpu_kernel_fn>(__VA_ARGS__), dim3(1), dim3(1), \
			 gpu_args_, 0, (stream));                                                 \
	})

/* Ends the program with status 2 and a message if a CUDA call fails. */
#define GPU_CHECK(call)                                                                   \
	do {                                                                              \
		cudaError_t gpu_error_ = (call);                                          \
		if (gpu_error_ != cudaSuccess) {                                          \
			fprintf(stderr, "%s:%d: CUDA error %d: %s\n", __FILE__, __LINE__, \
				(int)gpu_error_, cudaGetErrorString(gpu_error_));         \
			exit(2);                                                          \
		}                                                                         \
	} while (0)

#endif
