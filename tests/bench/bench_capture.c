/* SPDX-License-Identifier: MIT */
/*
 * capture [DEPTH=36] [ROUNDS=200000]: the cost of a launch's native stack in ns, captured as in the
 * injected library: in a warm loop, and after the program has used the caches (1 MiB is read before
 * each). Without CUDA and without a profiler.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "cupti_trace/launch/launch_stack.h"
#include "cupti_trace/unwind/unwind_thread.h"

#define COLD_BYTES (1u << 20)

static struct sink sink = {.lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1, .broken = true};
static unsigned char cold[COLD_BYTES];
static volatile unsigned int seen;

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void use_caches(void)
{
	unsigned int sum = 0;

	for (unsigned int i = 0; i < COLD_BYTES; i += 64)
		sum += cold[i]++;
	seen += sum;
}

static __attribute__((noinline)) void measure(long rounds)
{
	struct unwind_stack stack;
	double start, warm, clock_ns, after = 0;

	launch_stack_capture(launch_stack_thread(), &sink, "bench", __builtin_frame_address(0), 1);
	start = now_ns();
	for (long i = 0; i < rounds; i++)
		launch_stack_capture(launch_stack_thread(), &sink, "bench",
				     __builtin_frame_address(0), 1);
	warm = (now_ns() - start) / (double)rounds;
	rounds /= 20;
	start = now_ns();
	for (long i = 0; i < rounds; i++)
		now_ns();
	clock_ns = (now_ns() - start) / (double)rounds;
	for (long i = 0; i < rounds; i++) {
		use_caches();
		start = now_ns();
		launch_stack_capture(launch_stack_thread(), &sink, "bench",
				     __builtin_frame_address(0), 1);
		after += now_ns() - start;
	}
	unwind_own_stack(&stack, NULL, UNWIND_MAX_FRAMES);
	printf("launch stack of %u native frames:        %.0f ns, with cold caches %.0f ns\n",
	       stack.count, warm, after / (double)rounds - clock_ns);
}

static __attribute__((noinline)) void descend(int depth, long rounds)
{
	volatile char local[100];

	local[0] = 1;
	if (depth == 0)
		measure(rounds);
	else
		descend(depth - 1, rounds);
	local[1] = local[0];
}

int main(int argc, char **argv)
{
	descend(argc > 1 ? (int)strtol(argv[1], NULL, 10) : 36,
		argc > 2 ? strtol(argv[2], NULL, 10) : 200000);
	return 0;
}
