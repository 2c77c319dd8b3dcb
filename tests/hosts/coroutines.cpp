/* SPDX-License-Identifier: MIT */
/*
 * coroutines [THREADS=2000] [LAUNCHES=20000]: so many short threads, one after the other, each of
 * which launches once; as many that do so on a stack of their own making (makecontext); then so
 * many launches by the main thread on such a stack, and as many on its own.
 *
 * Prints on stderr how many kB each thread of either kind left in memory, and the ns that a launch
 * takes on either stack.
 */
#include "host.h"

#include <pthread.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>

enum { STACK_BYTES = 2 * HOST_STACK_BYTES };

GPU_KERNEL(from_coroutine)

/* A thread has a stack of its own at the same place as the last one: they run one by one. */
static char *stack;
static long launches;
static ucontext_t outside, inside;

NOINLINE static void launch_many(long count)
{
	for (long i = 0; i < count; i++)
		GPU_CHECK(GPU_LAUNCH(0, 100, from_coroutine));
}

NOINLINE static void nested(int depth, long count)
{
	volatile char local[100];

	local[0] = 1;
	if (depth)
		nested(depth - 1, count);
	else
		launch_many(count);
	local[1] = local[0];
}

static void coroutine()
{
	nested(20, launches);
}

static void run_coroutine(long count)
{
	launches = count;
	getcontext(&inside);
	inside.uc_stack.ss_sp = stack;
	inside.uc_stack.ss_size = STACK_BYTES;
	inside.uc_link = &outside;
	makecontext(&inside, coroutine, 0);
	swapcontext(&outside, &inside);
}

static void *plain_main(void *arg)
{
	launch_many(1);
	return arg;
}

static void *coroutine_main(void *arg)
{
	run_coroutine(1);
	return arg;
}

/* How many kB each leaves. */
static double run_threads(long count, void *(*function)(void *))
{
	long before = resident_kb();

	for (long i = 0; i < count; i++) {
		pthread_t thread;

		if (pthread_create(&thread, nullptr, function, nullptr) ||
		    pthread_join(thread, nullptr))
			exit(1);
	}
	return (double)(resident_kb() - before) / (double)count;
}

static double now_ns()
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
	long threads = argc > 1 ? atol(argv[1]) : 2000, count = argc > 2 ? atol(argv[2]) : 20000;
	double start, foreign, own, plain_kb, kb;

	stack = (char *)mmap(nullptr, STACK_BYTES, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (stack == MAP_FAILED)
		return 1;
	GPU_CHECK(cudaDeviceSynchronize());
	plain_kb = run_threads(threads, plain_main);
	kb = run_threads(threads, coroutine_main);
	fprintf(stderr, "coroutines: %.1f kB left by each thread, %.1f without coroutines\n", kb,
		plain_kb);
	start = now_ns();
	run_coroutine(count);
	foreign = (now_ns() - start) / (double)count;
	start = now_ns();
	nested(20, count);
	own = (now_ns() - start) / (double)count;
	fprintf(stderr, "coroutines: %.0f ns a launch, %.0f on the thread's own stack\n", foreign,
		own);
	GPU_CHECK(cudaDeviceSynchronize());
	printf("launches %ld\n", 2 * threads + 2 * count);
	return 0;
}
