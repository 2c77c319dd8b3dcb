// SPDX-License-Identifier: MIT
/*
 * Kernels whose hardware counters are known beforehand, for tests/gpu/counters.
 *
 *	counters known			each kernel some times; what is to be expected, as KEY VALUE
 *	counters threads N LAUNCHES	N threads launch `tiny` on streams of their own
 *	counters capture		launches that are captured into a graph, the graph, then
 *others counters cost LAUNCHES		time of a launch of `tiny`, as KEY VALUE
 */
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#define CHECK(call)                                                                      \
	do {                                                                             \
		cudaError_t result_ = (call);                                            \
		if (result_ != cudaSuccess) {                                            \
			fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(result_)); \
			exit(1);                                                         \
		}                                                                        \
	} while (0)

// Reads and writes each byte once, of buffers far larger than the L2 cache.
__global__ void copy_known(const uint4 *from, uint4 *to, size_t count)
{
	size_t step = (size_t)gridDim.x * blockDim.x;

	for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step)
		to[i] = from[i];
}

// ROUNDS * 16 fused multiply-adds in each thread, and no other ones.
enum { ROUNDS = 1000, FMAS = 16 };
__global__ void fma_known(float *out, float a)
{
	float x[FMAS];

	for (int k = 0; k < FMAS; k++)
		x[k] = (float)k;
	for (int i = 0; i < ROUNDS; i++) {
#pragma unroll
		for (int k = 0; k < FMAS; k++)
			asm volatile("fma.rn.f32 %0, %0, %1, %1;" : "+f"(x[k]) : "f"(a));
	}
	for (int k = 0; k < FMAS; k++)
		if (x[k] == 12345.678f)
			out[threadIdx.x] = x[k];
}

// Blocks that stay for so many cycles, so few to a multiprocessor as their shared memory lets.
__global__ void occupancy_known(int64_t cycles, int *out)
{
	extern __shared__ int shared[];
	int64_t start = clock64();

	shared[threadIdx.x] = (int)threadIdx.x;
	while (clock64() - start < cycles)
		;
	if (shared[threadIdx.x] < 0)
		*out = 1;
}

// What it leaves depends on how often it ran.
__global__ void increment(int *values, int count)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < count)
		values[i]++;
}

__global__ void tiny(int *out)
{
	if (out)
		*out = 1;
}

static void copy_kernel()
{
	const size_t bytes = (size_t)4 << 30;
	uint4 *from, *to;

	CHECK(cudaMalloc(&from, bytes));
	CHECK(cudaMalloc(&to, bytes));
	CHECK(cudaMemset(from, 7, bytes));
	CHECK(cudaMemset(to, 0, bytes));
	for (int i = 0; i < 2; i++)
		copy_known<<<132 * 16, 512>>>(from, to, bytes / sizeof(uint4));
	CHECK(cudaDeviceSynchronize());
	printf("copy_bytes %zu\n", 2 * bytes);
	CHECK(cudaFree(from));
	CHECK(cudaFree(to));
}

static void fma_kernel()
{
	const int blocks = 1024, threads = 256;
	float *out;

	CHECK(cudaMalloc(&out, 4096));
	for (int i = 0; i < 4; i++)
		fma_known<<<blocks, threads>>>(out, 1.0001f);
	CHECK(cudaDeviceSynchronize());
	printf("fma_instructions %lld\n", (long long)blocks * threads * ROUNDS * FMAS);
}

// 100 KiB of shared memory let two blocks of 8 warps into a multiprocessor with 228 KiB; the
// share of its room for warps is reckoned by the device's own figures.
static void occupancy_kernel()
{
	const int shared = 100 << 10, threads = 256;
	int device = 0, processors, room, warps, resident, *out;

	CHECK(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device));
	CHECK(cudaDeviceGetAttribute(&room, cudaDevAttrMaxSharedMemoryPerMultiprocessor, device));
	CHECK(cudaDeviceGetAttribute(&warps, cudaDevAttrMaxThreadsPerMultiProcessor, device));
	warps /= 32;
	resident = room / (shared + 1024); // CUDA itself takes 1 KiB of each block
	CHECK(cudaMalloc(&out, 4));
	CHECK(cudaFuncSetAttribute(occupancy_known, cudaFuncAttributeMaxDynamicSharedMemorySize,
				   shared));
	for (int i = 0; i < 4; i++)
		occupancy_known<<<processors * resident, threads, shared>>>(2000000, out);
	CHECK(cudaDeviceSynchronize());
	printf("occupancy_percent %.3f\n", 100.0 * resident * (threads / 32) / warps);
	printf("occupancy_warps %d\n", processors * resident * (threads / 32));
}

static void increment_kernel()
{
	const int count = 1 << 20, launches = 9;
	std::vector<int> values(count);
	int *device, wrong = 0;

	CHECK(cudaMalloc(&device, count * sizeof(int)));
	CHECK(cudaMemset(device, 0, count * sizeof(int)));
	for (int i = 0; i < launches; i++)
		increment<<<count / 256, 256>>>(device, count);
	CHECK(cudaMemcpy(values.data(), device, count * sizeof(int), cudaMemcpyDeviceToHost));
	for (int value : values)
		wrong += value != launches;
	printf("increment_wrong %d\n", wrong);
	printf("launches %d\n", 2 + 4 + 4 + launches);
}

static void threads(int count, int launches)
{
	std::vector<std::thread> all;

	for (int t = 0; t < count; t++)
		all.emplace_back([launches] {
			cudaStream_t stream;

			CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
			for (int i = 0; i < launches; i++)
				tiny<<<1, 32, 0, stream>>>(nullptr);
			CHECK(cudaStreamSynchronize(stream));
		});
	for (auto &one : all)
		one.join();
	printf("launches %d\n", count * launches);
}

static void capture()
{
	cudaStream_t stream;
	cudaGraph_t graph;
	cudaGraphExec_t exec;

	CHECK(cudaStreamCreate(&stream));
	CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
	for (int i = 0; i < 10; i++)
		tiny<<<1, 32, 0, stream>>>(nullptr);
	CHECK(cudaStreamEndCapture(stream, &graph));
	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	for (int i = 0; i < 5; i++)
		CHECK(cudaGraphLaunch(exec, stream));
	for (int i = 0; i < 20; i++)
		tiny<<<1, 32, 0, stream>>>(nullptr);
	CHECK(cudaStreamSynchronize(stream));
	printf("kernels %d\n", 5 * 10 + 20);
}

static void cost(int launches)
{
	using clock = std::chrono::steady_clock;

	for (int i = 0; i < 100; i++)
		tiny<<<1, 32>>>(nullptr);
	CHECK(cudaDeviceSynchronize());
	auto start = clock::now();
	for (int i = 0; i < launches; i++)
		tiny<<<1, 32>>>(nullptr);
	CHECK(cudaDeviceSynchronize());
	printf("launch_ns %.0f\n",
	       std::chrono::duration<double, std::nano>(clock::now() - start).count() / launches);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "known";

	if (strcmp(mode, "threads") == 0 && argc == 4) {
		threads(atoi(argv[2]), atoi(argv[3]));
	} else if (strcmp(mode, "capture") == 0) {
		capture();
	} else if (strcmp(mode, "cost") == 0 && argc == 3) {
		cost(atoi(argv[2]));
	} else {
		copy_kernel();
		fma_kernel();
		occupancy_kernel();
		increment_kernel();
	}
	return 0;
}
