/* SPDX-License-Identifier: MIT */
/*
 * Kernels whose warps stall for known reasons, for tests/gpu/stalls.
 *
 *   stalls work [ROUNDS=20]      chase waits for memory, crunch computes, brief is launched often
 *   stalls graph [ROUNDS=200]    the same two as a graph
 *   stalls modules CUBIN [ROUNDS=50]   loads a module, runs a kernel of it and unloads it, while
 *                                chase runs
 *   stalls sites [ROUNDS=20]     one kernel from two functions: it waits for memory, or computes
 *
 * Prints "kernels N ms T": how many it launched, and the wall time from the first to the end.
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <cuda_runtime.h>

#define CHECK(call)                                                                    \
	do {                                                                           \
		cudaError_t error = (call);                                            \
		if (error != cudaSuccess) {                                            \
			fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error)); \
			exit(1);                                                       \
		}                                                                      \
	} while (0)

enum { THREADS = 128, BLOCKS = 132 * 4, STEPS = 1500, BRIEF = 100 };
static const unsigned CELLS = 1u << 28; /* 1 GiB: far more than any cache */

/* Each cell names the next: one cycle through all of them, in an order that no cache follows. */
__global__ void link_cells(unsigned *next)
{
	for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < CELLS;
	     i += gridDim.x * blockDim.x)
		next[i] = (i * 1664525u + 1013904223u) % CELLS;
}

__device__ __forceinline__ unsigned step(const unsigned *next, unsigned at)
{
	return next[at]; // the loading line
}

__global__ void chase(const unsigned *next, unsigned *out, int steps)
{
	unsigned at = (blockIdx.x * blockDim.x + threadIdx.x) * 2654435761u % CELLS;

	for (int i = 0; i < steps; i++)
		at = step(next, at);
	out[blockIdx.x * blockDim.x + threadIdx.x] = at;
}

__global__ void crunch(float *out, int steps)
{
	float v[8];

	for (int j = 0; j < 8; j++)
		v[j] = (float)(threadIdx.x + j);
	for (int i = 0; i < steps; i++)
		for (int j = 0; j < 8; j++)
			v[j] = fmaf(v[j], 0.999f, 0.5f); // the computing line
	for (int j = 1; j < 8; j++)
		v[0] += v[j];
	out[blockIdx.x * blockDim.x + threadIdx.x] = v[0];
}

__global__ void either(const unsigned *next, unsigned *out, int steps, bool follows)
{
	unsigned at = (blockIdx.x * blockDim.x + threadIdx.x) * 2654435761u % CELLS;

	if (follows)
		for (int i = 0; i < steps; i++)
			at = next[at]; // the following line
	else
		for (int i = 0; i < 100 * steps; i++)
			at = at * 1664525u ^ at >> 3;
	out[blockIdx.x * blockDim.x + threadIdx.x] = at;
}

extern "C" __global__ void brief(unsigned *out)
{
	out[blockIdx.x * blockDim.x + threadIdx.x] = threadIdx.x;
}

static unsigned *next, *out;
static long kernels;

static double now_ms()
{
	timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void launch_chase(cudaStream_t stream)
{
	chase<<<BLOCKS, THREADS, 0, stream>>>(next, out, STEPS);
	kernels++;
}

static void launch_crunch(cudaStream_t stream)
{
	crunch<<<BLOCKS, THREADS, 0, stream>>>((float *)out, 20 * STEPS);
	kernels++;
}

static void work(long rounds)
{
	for (long i = 0; i < rounds; i++) {
		launch_chase(0);
		launch_crunch(0);
		for (int j = 0; j < BRIEF; j++)
			brief<<<1, THREADS>>>(out);
		kernels += BRIEF;
	}
}

__attribute__((noinline)) static void launch_following()
{
	either<<<BLOCKS, THREADS>>>(next, out, STEPS, true);
	kernels++;
}

__attribute__((noinline)) static void launch_computing()
{
	either<<<BLOCKS, THREADS>>>(next, out, STEPS, false);
	kernels++;
}

static void sites(long rounds)
{
	for (long i = 0; i < rounds; i++) {
		launch_following();
		launch_computing();
	}
}

static void graph(long rounds)
{
	cudaStream_t stream;
	cudaGraph_t made;
	cudaGraphExec_t exec;

	CHECK(cudaStreamCreate(&stream));
	CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
	launch_chase(stream);
	launch_crunch(stream);
	CHECK(cudaStreamEndCapture(stream, &made));
	CHECK(cudaGraphInstantiate(&exec, made, 0));
	kernels = 0;
	for (long i = 0; i < rounds; i++) {
		CHECK(cudaGraphLaunch(exec, stream));
		kernels += 2;
	}
}

static void modules(const char *path, long rounds)
{
	for (long i = 0; i < rounds; i++) {
		cudaLibrary_t library;
		cudaKernel_t kernel;
		void *args[] = {&out};

		launch_chase(0);
		CHECK(cudaLibraryLoadFromFile(&library, path, NULL, NULL, 0, NULL, NULL, 0));
		CHECK(cudaLibraryGetKernel(&kernel, library, "brief"));
		CHECK(cudaLaunchKernel((const void *)kernel, dim3(1), dim3(THREADS), args, 0, 0));
		kernels++;
		CHECK(cudaDeviceSynchronize());
		CHECK(cudaLibraryUnload(library));
	}
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	int at = strcmp(mode, "modules") == 0 ? 3 : 2;
	long rounds = argc > at ? atol(argv[at]) : 0;
	double start;

	CHECK(cudaMalloc(&next, CELLS * sizeof(*next)));
	CHECK(cudaMalloc(&out, BLOCKS * THREADS * sizeof(*out)));
	link_cells<<<1024, 256>>>(next);
	CHECK(cudaDeviceSynchronize());
	start = now_ms();
	if (strcmp(mode, "work") == 0) {
		work(rounds ? rounds : 20);
	} else if (strcmp(mode, "sites") == 0) {
		sites(rounds ? rounds : 20);
	} else if (strcmp(mode, "graph") == 0) {
		graph(rounds ? rounds : 200);
	} else if (strcmp(mode, "modules") == 0 && argc > 2) {
		modules(argv[2], rounds ? rounds : 50);
	} else {
		fprintf(stderr,
			"usage: stalls work|sites|graph [ROUNDS] | modules CUBIN [ROUNDS]\n");
		return 2;
	}
	CHECK(cudaDeviceSynchronize());
	printf("kernels %ld ms %.3f\n", kernels + 1, now_ms() - start);
	return 0;
}
