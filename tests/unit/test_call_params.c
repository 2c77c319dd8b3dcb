/* SPDX-License-Identifier: MIT */
/*
 * Reads parameters from the structs of NVIDIA's headers, if installed. Each member has a value of
 * its own, so a wrong offset shows.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>
#include "cupti_trace/launch/call_params.h"

static void sorts_are_known_by_name(void **state)
{
	static const struct {
		const char *name;
		enum call_sort sort;
	} list[] = {
		{"cudaLaunchKernel_ptsz_v7000", CALL_LAUNCH},
		{"cudaLaunchCooperativeKernelMultiDevice_v9000", CALL_LAUNCH},
		{"cuGraphLaunch_ptsz", CALL_LAUNCH},
		{"cudaLaunchHostFunc_v10000", CALL_OTHER},
		{"cudaMemcpyAsync_ptsz_v7000", CALL_COPY},
		{"cudaMemcpy3DBatchAsync_v13000", CALL_COPY},
		{"cudaMemsetAsync_v3020", CALL_OTHER},
		{"cudaMalloc_v3020", CALL_ALLOC},
		{"cuMemAlloc_v2", CALL_ALLOC},
		{"cuMemCreate", CALL_ALLOC},
		{"cudaFreeAsync_ptsz_v11020", CALL_FREE},
		{"cuMemRelease", CALL_FREE},
		{"cudaDeviceSynchronize_v3020", CALL_SYNC},
		{"cuStreamSynchronize_ptsz", CALL_SYNC},
		{"cudaEventSynchronize_v3020", CALL_SYNC},
		{"cudaStreamWaitEvent_v3020", CALL_OTHER},
		{"cudaGetLastError_v3020", CALL_OTHER},
		{"", CALL_OTHER},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)
		if (call_layout_of(list[i].name).sort != list[i].sort)
			fail_msg("%s: %d", list[i].name, call_layout_of(list[i].name).sort);
}

static void nothing_is_said_without_parameters(void **state)
{
	static const char *const names[] = {"cudaLaunchKernel_v7000",
					    "cudaMemcpy_v3020",
					    "cudaMalloc_v3020",
					    "cudaFree_v3020",
					    "cudaStreamSynchronize_v3020",
					    "cudaMallocArray_v3020"};
	struct call_launch launch;
	struct call_memory memory;

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct call_layout layout = call_layout_of(names[i]);

		call_params_launch(layout, NULL, &launch);
		call_params_memory(layout, NULL, &memory);
		assert_int_equal(launch.grid[0] + launch.block[2] + launch.stream, 0);
		assert_int_equal(memory.address + memory.bytes + memory.stream, 0);
		assert_int_equal(call_params_copied(layout, NULL), 0);
		assert_int_equal(call_params_awaited(layout, NULL), 0);
	}
}

/* The program passes what it likes; CUDA is still to look at it. */
static void bad_configurations_are_not_read(void **state)
{
	struct call_layout layout = call_layout_of("cudaLaunchKernelExC_v11060");
	uint64_t bad[] = {0, 8, 1, UINT64_MAX - 7, 0xffff800000000000u};
	struct call_launch launch;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		call_params_launch(layout, &bad[i], &launch);
		assert_int_equal(launch.grid[0], 0);
	}
}

#if defined(__has_include) && __has_include(<cupti.h>) && __has_include(<cuda.h>)
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <cupti.h>

static struct call_launch launch_of(const char *name, const void *params)
{
	struct call_launch launch;

	call_params_launch(call_layout_of(name), params, &launch);
	return launch;
}

static void check_launch(const struct call_launch *launch)
{
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(launch->grid[i], 1 + i);
		assert_int_equal(launch->block[i], 4 + i);
	}
	assert_int_equal(launch->stream, 7);
}

static void launches_agree_with_the_headers(void **state)
{
	cudaLaunchKernel_v7000_params runtime = {.gridDim = {1, 2, 3},
						 .blockDim = {4, 5, 6},
						 .sharedMem = 99,
						 .stream = (cudaStream_t)7};
	cudaLaunchCooperativeKernel_v9000_params cooperative = {
		.gridDim = {1, 2, 3}, .blockDim = {4, 5, 6}, .stream = (cudaStream_t)7};
	cudaLaunchConfig_t config = {.gridDim = {1, 2, 3},
				     .blockDim = {4, 5, 6},
				     .dynamicSmemBytes = 99,
				     .stream = (cudaStream_t)7};
	cudaLaunchKernelExC_v11060_params ex = {.config = &config};
	cuLaunchKernel_params driver = {.gridDimX = 1,
					.gridDimY = 2,
					.gridDimZ = 3,
					.blockDimX = 4,
					.blockDimY = 5,
					.blockDimZ = 6,
					.sharedMemBytes = 99,
					.hStream = (CUstream)7};
	cuLaunchCooperativeKernel_params driver_cooperative = {.gridDimX = 1,
							       .gridDimY = 2,
							       .gridDimZ = 3,
							       .blockDimX = 4,
							       .blockDimY = 5,
							       .blockDimZ = 6,
							       .hStream = (CUstream)7};
	CUlaunchConfig driver_config = {.gridDimX = 1,
					.gridDimY = 2,
					.gridDimZ = 3,
					.blockDimX = 4,
					.blockDimY = 5,
					.blockDimZ = 6,
					.hStream = (CUstream)7};
	cuLaunchKernelEx_params driver_ex = {.config = &driver_config};
	cudaGraphLaunch_v10000_params graph = {.stream = (cudaStream_t)7};
	cuGraphLaunch_params driver_graph = {.hStream = (CUstream)7};
	struct call_launch launch;

	(void)state;
	launch = launch_of("cudaLaunchKernel_v7000", &runtime);
	check_launch(&launch);
	launch = launch_of("cudaLaunchCooperativeKernel_v9000", &cooperative);
	check_launch(&launch);
	launch = launch_of("cudaLaunchKernelExC_v11060", &ex);
	check_launch(&launch);
	launch = launch_of("cuLaunchKernel_ptsz", &driver);
	check_launch(&launch);
	launch = launch_of("cuLaunchCooperativeKernel", &driver_cooperative);
	check_launch(&launch);
	launch = launch_of("cuLaunchKernelEx", &driver_ex);
	check_launch(&launch);
	assert_int_equal(launch_of("cudaGraphLaunch_v10000", &graph).stream, 7);
	assert_int_equal(launch_of("cuGraphLaunch", &driver_graph).stream, 7);
}

static void copies_agree_with_the_headers(void **state)
{
	cudaMemcpyAsync_v3020_params async = {.count = 5};
	cudaMemcpyPeer_v4000_params peer = {.count = 6};
	cudaMemcpy2D_v3020_params pitched = {.dpitch = 100, .spitch = 200, .width = 7, .height = 3};
	cuMemcpyHtoD_v2_params driver = {.ByteCount = 8};
	cuMemcpyPeerAsync_params driver_peer = {.ByteCount = 9};

	(void)state;
	assert_int_equal(call_params_copied(call_layout_of("cudaMemcpyAsync_v3020"), &async), 5);
	assert_int_equal(call_params_copied(call_layout_of("cudaMemcpyPeer_v4000"), &peer), 6);
	assert_int_equal(call_params_copied(call_layout_of("cudaMemcpy2D_v3020"), &pitched), 21);
	assert_int_equal(call_params_copied(call_layout_of("cuMemcpyHtoD_v2_ptds"), &driver), 8);
	assert_int_equal(call_params_copied(call_layout_of("cuMemcpyPeerAsync"), &driver_peer), 9);
}

static void check_memory(const char *name, const void *params, uint64_t bytes, uint64_t stream)
{
	struct call_memory memory;

	call_params_memory(call_layout_of(name), params, &memory);
	if (memory.address != 77 || memory.bytes != bytes || memory.stream != stream)
		fail_msg("%s: address %lu, %lu bytes, stream %lu", name, memory.address,
			 memory.bytes, memory.stream);
}

static void memory_calls_agree_with_the_headers(void **state)
{
	void *result = (void *)77;
	CUdeviceptr address = 77;
	unsigned long long handle = 77;
	size_t pitch = 512;
	struct cudaPitchedPtr pitched = {.ptr = (void *)77, .pitch = 512};
	cudaArray_t array = (cudaArray_t)77;

	(void)state;
	check_memory("cudaMalloc_v3020", &(cudaMalloc_v3020_params){&result, 5}, 5, 0);
	check_memory("cudaMallocHost_v3020", &(cudaMallocHost_v3020_params){&result, 5}, 5, 0);
	check_memory("cudaMallocManaged_v6000", &(cudaMallocManaged_v6000_params){&result, 5, 1}, 5,
		     0);
	check_memory("cudaHostAlloc_v3020", &(cudaHostAlloc_v3020_params){&result, 5, 1}, 5, 0);
	check_memory("cudaMallocAsync_v11020",
		     &(cudaMallocAsync_v11020_params){
			     .devPtr = &result, .size = 5, .hStream = (cudaStream_t)7},
		     5, 7);
	check_memory("cudaMallocFromPoolAsync_v11020",
		     &(cudaMallocFromPoolAsync_v11020_params){
			     .ptr = &result, .size = 5, .stream = (cudaStream_t)7},
		     5, 7);
	check_memory("cudaMallocPitch_v3020",
		     &(cudaMallocPitch_v3020_params){&result, &pitch, 100, 3}, 1536, 0);
	check_memory("cudaMalloc3D_v3020",
		     &(cudaMalloc3D_v3020_params){&pitched, {.width = 9, .height = 3, .depth = 2}},
		     3072, 0);
	check_memory("cudaMallocArray_v3020", &(cudaMallocArray_v3020_params){.array = &array}, 0,
		     0);
	check_memory("cuMemAlloc_v2", &(cuMemAlloc_v2_params){&address, 5}, 5, 0);
	check_memory("cuMemAllocAsync", &(cuMemAllocAsync_params){&address, 5, (CUstream)7}, 5, 7);
	check_memory("cuMemAllocFromPoolAsync",
		     &(cuMemAllocFromPoolAsync_params){
			     .dptr = &address, .bytesize = 5, .hStream = (CUstream)7},
		     5, 7);
	check_memory("cuMemAllocPitch_v2", &(cuMemAllocPitch_v2_params){&address, &pitch, 9, 3, 4},
		     1536, 0);
	check_memory("cuMemCreate", &(cuMemCreate_params){.handle = &handle, .size = 5}, 5, 0);
	check_memory("cudaFree_v3020", &(cudaFree_v3020_params){result}, 0, 0);
	check_memory("cudaFreeAsync_v11020",
		     &(cudaFreeAsync_v11020_params){result, (cudaStream_t)7}, 0, 7);
	check_memory("cuMemFree_v2", &(cuMemFree_v2_params){77}, 0, 0);
	check_memory("cuMemFreeAsync", &(cuMemFreeAsync_params){77, (CUstream)7}, 0, 7);
	check_memory("cuMemRelease", &(cuMemRelease_params){77}, 0, 0);
	assert_int_equal(
		call_params_awaited(call_layout_of("cudaStreamSynchronize_v3020"),
				    &(cudaStreamSynchronize_v3020_params){(cudaStream_t)7}),
		7);
}
#else
static void skipped(void **state)
{
	(void)state;
	SKIP("NVIDIA's headers are not installed");
}
#define launches_agree_with_the_headers skipped
#define copies_agree_with_the_headers skipped
#define memory_calls_agree_with_the_headers skipped
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sorts_are_known_by_name),
		cmocka_unit_test(nothing_is_said_without_parameters),
		cmocka_unit_test(bad_configurations_are_not_read),
		cmocka_unit_test(launches_agree_with_the_headers),
		cmocka_unit_test(copies_agree_with_the_headers),
		cmocka_unit_test(memory_calls_agree_with_the_headers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
