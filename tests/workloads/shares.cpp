/* SPDX-License-Identifier: MIT */
/*
 * shares ROUNDS [THREADS=1]: launches as fast as it can, in each thread and round
 *
 *	often(), twice(), often(), briefly()      the kernel shared
 *	seldom() or, each third time, at_last()   the kernel longer, each 50th round
 *	fills() or, each fourth time, refills()   a set, each 10th round
 *
 * always in this order, so that whoever looks at every Nth launch is in step with it. Prints
 * "FUNCTION NS" for each function that launches kernels: what its kernels take in all.
 */
#include "gpu.h"

#include <pthread.h>
#include <vector>

enum { OFTEN_NS = 300, TWICE_NS = 600, BRIEFLY_NS = 100, LONGER_NS = 8000 };

GPU_KERNEL(shared)
GPU_KERNEL(longer)

struct work {
	pthread_t thread;
	long rounds;
	long seldom, at_last;
};

NOINLINE static void often(cudaStream_t stream)
{
	GPU_CHECK(GPU_LAUNCH(stream, OFTEN_NS, shared));
}

NOINLINE static void twice(cudaStream_t stream)
{
	GPU_CHECK(GPU_LAUNCH(stream, TWICE_NS, shared));
}

NOINLINE static void briefly(cudaStream_t stream)
{
	GPU_CHECK(GPU_LAUNCH(stream, BRIEFLY_NS, shared));
}

NOINLINE static void seldom(cudaStream_t stream)
{
	GPU_CHECK(GPU_LAUNCH(stream, LONGER_NS, longer));
}

NOINLINE static void at_last(cudaStream_t stream)
{
	GPU_CHECK(GPU_LAUNCH(stream, LONGER_NS, longer));
}

NOINLINE static void fills(void *memory, cudaStream_t stream)
{
	GPU_CHECK(cudaMemsetAsync(memory, 1, 64, stream));
}

NOINLINE static void refills(void *memory, cudaStream_t stream)
{
	GPU_CHECK(cudaMemsetAsync(memory, 1, 4096, stream));
}

static void *launch_all(void *arg)
{
	struct work *w = (struct work *)arg;
	cudaStream_t stream;
	void *memory;

	GPU_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	GPU_CHECK(cudaMalloc(&memory, 4096));
	for (long i = 0; i < w->rounds; i++) {
		often(stream);
		twice(stream);
		often(stream);
		briefly(stream);
		if (i % 150 == 100) {
			at_last(stream);
			w->at_last++;
		} else if (i % 50 == 0) {
			seldom(stream);
			w->seldom++;
		}
		if (i % 40 == 30)
			refills(memory, stream);
		else if (i % 10 == 0)
			fills(memory, stream);
	}
	GPU_CHECK(cudaStreamSynchronize(stream));
	GPU_CHECK(cudaFree(memory));
	GPU_CHECK(cudaStreamDestroy(stream));
	return nullptr;
}

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? atol(argv[1]) : -1, all = 0, seldom_all = 0, at_last_all = 0;
	int threads = argc > 2 ? atoi(argv[2]) : 1;

	if (rounds < 0 || threads < 1) {
		fprintf(stderr, "usage: %s ROUNDS [THREADS]\n", argv[0]);
		return 1;
	}
	std::vector<struct work> work((size_t)threads);
	for (auto &w : work)
		w.rounds = rounds;
	for (size_t i = 1; i < work.size(); i++)
		if (pthread_create(&work[i].thread, nullptr, launch_all, &work[i]))
			return 2;
	launch_all(&work[0]);
	for (size_t i = 1; i < work.size(); i++)
		pthread_join(work[i].thread, nullptr);
	for (const auto &w : work) {
		all += w.rounds;
		seldom_all += w.seldom;
		at_last_all += w.at_last;
	}
	printf("often %ld\ntwice %ld\nbriefly %ld\nseldom %ld\nat_last %ld\n", 2 * all * OFTEN_NS,
	       all * TWICE_NS, all * BRIEFLY_NS, seldom_all * LONGER_NS, at_last_all * LONGER_NS);
	return 0;
}
