/* SPDX-License-Identifier: MIT */
/*
 * outlives [ROUNDS=30]: works for a moment in many small steps, so that the profiler can be killed
 * in any of them: launches from new stacks and known ones, in two threads, and copies whose results
 * are checked.
 */
#include "host.h"

#include <pthread.h>

GPU_KERNEL(tiny)

enum { BYTES = 4096 };

static int rounds;

static void launch()
{
	GPU_CHECK(GPU_LAUNCH(nullptr, 1000, tiny));
}

static void *work(void *)
{
	unsigned char sent[BYTES], received[BYTES];
	void *memory;

	GPU_CHECK(cudaMalloc(&memory, BYTES));
	for (int i = 0; i < rounds; i++) {
		memset(sent, i + 1, BYTES);
		GPU_CHECK(cudaMemcpy(memory, sent, BYTES, cudaMemcpyHostToDevice));
		for (int j = 0; j < 100; j++)
			call_at_depth(i + j % 2, launch);
		GPU_CHECK(cudaMemcpy(received, memory, BYTES, cudaMemcpyDeviceToHost));
		HOST_CHECK(memcmp(sent, received, BYTES) == 0);
		usleep(1000);
	}
	GPU_CHECK(cudaFree(memory));
	return nullptr;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	rounds = argc > 1 ? atoi(argv[1]) : 30;
	HOST_CHECK(pthread_create(&thread, nullptr, work, nullptr) == 0);
	work(nullptr);
	pthread_join(thread, nullptr);
	GPU_CHECK(cudaDeviceSynchronize());
	printf("launches %d\n", 2 * rounds * 100);
	return 0;
}
