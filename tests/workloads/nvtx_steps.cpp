/* SPDX-License-Identifier: MIT */
/*
 * nvtx_steps [STEPS=40] [MODE=outside]: steps in NVTX ranges.
 *
 * Begins with 3 kernels `prepare` of 1000 ns. A step is in the range "step": 4 kernels `forward` of
 * 1000 ns, one `backward` of 5000 ns and one `update` of 2000 ns, which it waits for. Every tenth
 * step, the first one being number 5, also has a kernel `extra` of 80 ms, launched by `grow`.
 *
 * MODE: outside (a kernel `note` of 1000 ns after each range) | inside (no launches between ranges)
 * | named (as inside; the ranges are "step 0", "step 1" and so on) | loops (as outside; a second
 * thread has a loop of its own, of the kernels `other` and `prepare` of 1000 ns, 8 times while
 * there are 5 steps; both sleep each time)
 */
#include "gpu.h"
#include "../fake_cuda/fake_nvtx.h"

#include <string.h>
#include <thread>
#include <unistd.h>

enum { SLEEP_US = 4000 };

GPU_KERNEL(prepare)
GPU_KERNEL(forward)
GPU_KERNEL(backward)
GPU_KERNEL(update)
GPU_KERNEL(extra)
GPU_KERNEL(note)
GPU_KERNEL(other)

static cudaStream_t stream;

NOINLINE static void grow()
{
	GPU_CHECK(GPU_LAUNCH(stream, 80000000, extra));
}

NOINLINE static void train(int number)
{
	for (int i = 0; i < 4; i++)
		GPU_CHECK(GPU_LAUNCH(stream, 1000, forward));
	GPU_CHECK(GPU_LAUNCH(stream, 5000, backward));
	if (number % 10 == 5)
		grow();
	GPU_CHECK(GPU_LAUNCH(stream, 2000, update));
	GPU_CHECK(cudaStreamSynchronize(stream));
}

NOINLINE static void take_note()
{
	GPU_CHECK(GPU_LAUNCH(stream, 1000, note));
}

static void loop_beside(int steps)
{
	cudaStream_t own;

	GPU_CHECK(cudaStreamCreate(&own));
	for (int i = 0; i < steps * 8 / 5; i++) {
		GPU_CHECK(GPU_LAUNCH(own, 1000, other));
		GPU_CHECK(GPU_LAUNCH(own, 1000, prepare));
		GPU_CHECK(cudaStreamSynchronize(own));
		usleep(SLEEP_US * 5 / 8);
	}
}

int main(int argc, char **argv)
{
	int steps = argc > 1 ? atoi(argv[1]) : 40;
	const char *mode = argc > 2 ? argv[2] : "outside";
	bool is_named = strcmp(mode, "named") == 0, is_inside = is_named || !strcmp(mode, "inside");
	std::thread beside;

	GPU_CHECK(cudaStreamCreate(&stream));
	for (int i = 0; i < 3; i++)
		GPU_CHECK(GPU_LAUNCH(stream, 1000, prepare));
	if (strcmp(mode, "loops") == 0)
		beside = std::thread(loop_beside, steps);
	for (int i = 0; i < steps; i++) {
		char name[32] = "step";

		if (is_named)
			snprintf(name, sizeof(name), "step %d", i);
		nvtxRangePushA(name);
		train(i);
		nvtxRangePop();
		if (!is_inside)
			take_note();
		if (beside.joinable())
			usleep(SLEEP_US);
	}
	if (beside.joinable())
		beside.join();
	GPU_CHECK(cudaStreamSynchronize(stream));
	return 0;
}
