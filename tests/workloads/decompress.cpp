/* SPDX-License-Identifier: MIT */
/*
 * decompress [N=10]: N times a kernel, and a batch that the GPU decompresses, through
 * cuMemBatchDecompressAsync (CUDA 12.8), of which CUPTI 12.8 and later record a MEM_DECOMPRESS.
 */
#include "ptx.h"

#define DRIVER_FUNCTIONS(X)    \
	X(cuCtxSynchronize)    \
	X(cuStreamCreate)      \
	X(cuModuleLoadData)    \
	X(cuModuleGetFunction) \
	X(cuMemAlloc_v2)       \
	X(cuMemFree_v2)        \
	X(cuLaunchKernel)      \
	X(cuMemBatchDecompressAsync)
#include "driver.h"

#define NOINLINE __attribute__((noinline, noclone))

enum { SPIN_NS = 100000, SOURCE = 4096, BYTES = 8192 };

NOINLINE static void launch(CUfunction f, CUstream stream)
{
	uint64_t ns = SPIN_NS;
	void *params[] = {&ns};

	DRIVER_CHECK(cu.cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, stream, params, nullptr));
}

NOINLINE static void decompress(CUdeviceptr from, CUdeviceptr to, CUstream stream)
{
	CUmemDecompressParams params = {};
	size_t error_index;

	params.srcNumBytes = SOURCE;
	params.dstNumBytes = BYTES;
	params.src = (const void *)(uintptr_t)from;
	params.dst = (void *)(uintptr_t)to;
	DRIVER_CHECK(cu.cuMemBatchDecompressAsync(&params, 1, 0, &error_index, stream));
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
		decompress(memory, memory, stream);
	}
	DRIVER_CHECK(cu.cuCtxSynchronize());
	DRIVER_CHECK(cu.cuMemFree_v2(memory));
	printf("kernels %d batches %d\n", n, n);
	return 0;
}
