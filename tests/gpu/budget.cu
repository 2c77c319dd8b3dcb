/* SPDX-License-Identifier: MIT */
/*
 * budget MODE SECONDS: kernels of fixed durations, for --budget.
 *
 * Prints "launches NAME COUNT" for each kernel at the end. With PROFILE_BUDGET_BLOCK_MS=N it also
 * prints "pair WITHOUT WITH" for each two blocks of N ms: rounds a second without windows, and with
 * windows (duty_cycle.c), but for the first tenth of each block.
 *
 * MODE: ms (kernels of 300, 200 and 50 us in turn), slow (phases of a period of 3 s), queue (1,000
 * kernels of 1 ms at a time), rare (one of 500 ms every 5 s, others of 1 ms between), change
 * (another kernel in the second half), graph (a graph of 57 kernels of about 15 us, launched each
 * millisecond), short (graphs of 500 kernels of the shortest time), burst (single launches of the
 * shortest kernel).
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <time.h>
#include "../workloads/gpu.h"

__device__ void spin(unsigned long long ns)
{
	unsigned long long start, now;

	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
	do
		asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
	while (now - start < ns);
}

#define KERNEL(name)                                \
	__global__ void name(unsigned long long ns) \
	{                                           \
		spin(ns);                           \
	}
KERNEL(large)
KERNEL(middle)
KERNEL(small)
KERNEL(seldom)
__global__ void tiny()
{
}

static cudaStream_t stream;
static std::map<std::string, long> launches;

static double now_s()
{
	timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

#define RUN(name, us)                                     \
	do {                                              \
		name<<<1, 32, 0, stream>>>((us)*1000ull); \
		launches[#name]++;                        \
	} while (0)

static void synchronize()
{
	GPU_CHECK(cudaStreamSynchronize(stream));
}

static cudaGraphExec_t make_graph(int nodes, unsigned long long ns)
{
	cudaGraphExec_t exec;
	cudaGraph_t graph;

	GPU_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
	for (int i = 0; i < nodes; i++)
		if (!ns)
			tiny<<<1, 32, 0, stream>>>();
		else if (i % 3)
			middle<<<1, 32, 0, stream>>>(ns);
		else
			large<<<1, 32, 0, stream>>>(ns);
	GPU_CHECK(cudaStreamEndCapture(stream, &graph));
	GPU_CHECK(cudaGraphInstantiate(&exec, graph, 0));
	return exec;
}

static cudaGraphExec_t decode, many;

static void run_round(const char *mode, double passed, double seconds)
{
	static double seldom_at;

	if (strcmp(mode, "ms") == 0) {
		RUN(large, 300);
		RUN(middle, 200);
		RUN(small, 50);
		synchronize();
	} else if (strcmp(mode, "slow") == 0) {
		double phase = passed - 3 * (long)(passed / 3);

		if (phase < 1.5)
			RUN(large, 500);
		else if (phase < 2.5)
			RUN(middle, 500);
		else
			RUN(small, 500);
		synchronize();
	} else if (strcmp(mode, "queue") == 0) {
		for (int i = 0; i < 1000; i++)
			if (i % 4)
				RUN(large, 1000);
			else
				RUN(middle, 1000);
		synchronize();
	} else if (strcmp(mode, "rare") == 0) {
		if (passed >= seldom_at) {
			RUN(seldom, 500000);
			seldom_at = passed + 5;
		} else {
			RUN(large, 1000);
		}
		synchronize();
	} else if (strcmp(mode, "change") == 0) {
		if (passed < seconds / 2)
			RUN(large, 400);
		else
			RUN(middle, 20);
		RUN(small, 20);
		synchronize();
	} else if (strcmp(mode, "graph") == 0) {
		double until = now_s() + 30e-6;

		GPU_CHECK(cudaGraphLaunch(decode, stream));
		launches["large"] += 19;
		launches["middle"] += 38;
		synchronize();
		while (now_s() < until)
			;
	} else if (strcmp(mode, "short") == 0) {
		for (int i = 0; i < 4; i++)
			GPU_CHECK(cudaGraphLaunch(many, stream));
		launches["tiny"] += 2000;
		synchronize();
	} else {
		for (int i = 0; i < 200; i++)
			tiny<<<1, 32, 0, stream>>>();
		launches["tiny"] += 200;
		synchronize();
	}
}

/* Rounds and time of a block. */
struct block {
	long rounds;
	double seconds;
};

/* Prints a pair when a block without windows is followed by one with. */
static void note_block(double block_s, double begin, double end)
{
	static long number = -1;
	static struct block last, block;
	long now = (long)(begin / block_s);

	if (now != number) {
		if (number >= 0 && number % 2 == 0 && last.rounds && block.rounds)
			printf("pair %.6g %.6g\n", (double)last.rounds / last.seconds,
			       (double)block.rounds / block.seconds);
		last = block;
		block = {0, 0};
		number = now;
	}
	if (begin - (double)now * block_s < block_s / 10)
		return;
	block.rounds++;
	block.seconds += end - begin;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "ms", *block = getenv("PROFILE_BUDGET_BLOCK_MS");
	double seconds = argc > 2 ? strtod(argv[2], nullptr) : 10;
	double start = now_s(), now = start;

	GPU_CHECK(cudaStreamCreate(&stream));
	decode = make_graph(57, 15000);
	many = make_graph(500, 0);
	while ((now = now_s()) - start < seconds) {
		double end;

		run_round(mode, now - start, seconds);
		end = now_s();
		if (block && now - start > 1)
			note_block(strtod(block, nullptr) / 1e3, now, end);
	}
	for (auto &l : launches)
		printf("launches %s %ld\n", l.first.c_str(), l.second);
	return 0;
}
