/* SPDX-License-Identifier: MIT */
/*
 * durations [ROUNDS=20]: kernels with durations in the ratio 1:2:4:8, each under its own stack.
 *
 * Prints "KERNEL COUNT EXPECTED_NS MEASURED_NS" a line: expected is what the kernels were asked
 * to last, measured is CUDA events around each of them (which add a little on a real GPU).
 */
#include "gpu.h"

GPU_KERNEL(lasts_1)
GPU_KERNEL(lasts_2)
GPU_KERNEL(lasts_4)
GPU_KERNEL(lasts_8)

enum { UNIT_NS = 250000 };

static cudaEvent_t before, after;
static cudaStream_t stream;

/* One function a kernel: main;run_N;launch_N;cudaLaunchKernel;[GPU_Kernel]lasts_N. */
#define DEFINE_RUN(n)                                                        \
	NOINLINE static void launch_##n()                                    \
	{                                                                    \
		GPU_CHECK(GPU_LAUNCH(stream, n *UNIT_NS, lasts_##n));        \
	}                                                                    \
                                                                             \
	NOINLINE static double run_##n(int rounds)                           \
	{                                                                    \
		double ns = 0;                                               \
		for (int i = 0; i < rounds; i++) {                           \
			float ms = 0;                                        \
			GPU_CHECK(cudaEventRecord(before, stream));          \
			launch_##n();                                        \
			GPU_CHECK(cudaEventRecord(after, stream));           \
			GPU_CHECK(cudaEventSynchronize(after));              \
			GPU_CHECK(cudaEventElapsedTime(&ms, before, after)); \
			ns += (double)ms * 1e6;                              \
		}                                                            \
		return ns;                                                   \
	}

DEFINE_RUN(1)
DEFINE_RUN(2)
DEFINE_RUN(4)
DEFINE_RUN(8)

static void report(int n, int rounds, double measured)
{
	printf("lasts_%d %d %llu %.0f\n", n, rounds, (gpu_ns)rounds * (gpu_ns)n * UNIT_NS,
	       measured);
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 20;

	if (rounds <= 0) {
		fprintf(stderr, "usage: %s [ROUNDS]\n", argv[0]);
		return 1;
	}
	GPU_CHECK(cudaStreamCreate(&stream));
	GPU_CHECK(cudaEventCreate(&before));
	GPU_CHECK(cudaEventCreate(&after));
	report(1, rounds, run_1(rounds));
	report(2, rounds, run_2(rounds));
	report(4, rounds, run_4(rounds));
	report(8, rounds, run_8(rounds));
	GPU_CHECK(cudaEventDestroy(before));
	GPU_CHECK(cudaEventDestroy(after));
	GPU_CHECK(cudaStreamDestroy(stream));
	return 0;
}
