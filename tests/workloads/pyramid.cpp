/* SPDX-License-Identifier: MIT */
/*
 * pyramid [ROUNDS=10]: main -> climb (DEPTH calls deep, one frame a level) with a launch at every
 * fifth level: a stack of k climb frames launches the kernel step_5, step_10, ... of that level's
 * duration. Prints "DEPTH COUNT NS" a line.
 */
#include "gpu.h"

enum { DEPTH = 60, STEP = 5, LEVEL_NS = 2000 };

template <int Level>
GPU_KERNEL(step)

template <int Level>
NOINLINE static void launch_at(cudaStream_t stream)
{
	GPU_CHECK(GPU_LAUNCH(stream, Level * LEVEL_NS, step<Level>));
}

typedef void (*launcher)(cudaStream_t);
static const launcher launchers[DEPTH / STEP + 1] = {
	nullptr,       launch_at<5>,  launch_at<10>, launch_at<15>, launch_at<20>,
	launch_at<25>, launch_at<30>, launch_at<35>, launch_at<40>, launch_at<45>,
	launch_at<50>, launch_at<55>, launch_at<60>,
};

/* Recursion that cannot become a loop: there is work after the call. */
NOINLINE static int climb(int level, cudaStream_t stream)
{
	int below = 0;

	if (level % STEP == 0)
		launchers[level / STEP](stream);
	if (level < DEPTH)
		below = climb(level + 1, stream);
	asm volatile("" : "+r"(below));
	return below + 1;
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 10;
	cudaStream_t stream;

	GPU_CHECK(cudaStreamCreate(&stream));
	for (int i = 0; i < rounds; i++)
		if (climb(1, stream) != DEPTH)
			return 2;
	GPU_CHECK(cudaStreamSynchronize(stream));
	GPU_CHECK(cudaStreamDestroy(stream));
	for (int level = STEP; level <= DEPTH; level += STEP)
		printf("%d %d %d\n", level, rounds, rounds * level * LEVEL_NS);
	return 0;
}
