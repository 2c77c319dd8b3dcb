/* SPDX-License-Identifier: MIT */
/*
 * fibers [FIBERS=40] [ROUNDS=25]: coroutines that go from thread to thread: each launches, yields,
 * and goes on in another thread. Their stacks are small, end at a page that cannot be read, and are
 * unmapped when they end; later ones may get the same place, with less of it mapped.
 */
#include "host.h"

#include <pthread.h>
#include <sys/mman.h>
#include <ucontext.h>

GPU_KERNEL(from_fiber)

enum { THREADS = 4, PAGE = 4096, STACK_BYTES = HOST_STACK_BYTES };

static int rounds;
static long launches;

struct fiber {
	ucontext_t inside, outside;
	char *memory;
	int depth;
	bool is_done;
};

static struct fiber *fibers;
static int fiber_count, generations = 3;
static pthread_barrier_t everybody;

/* Not inlined, and told each time: a fiber may be in another thread after it has yielded. */
NOINLINE static void yield(struct fiber *fiber)
{
	swapcontext(&fiber->inside, &fiber->outside);
}

NOINLINE static void launch_at_depth(struct fiber *fiber, int depth)
{
	if (depth > 0) {
		launch_at_depth(fiber, depth - 1);
	} else {
		GPU_CHECK(GPU_LAUNCH(nullptr, 1000, from_fiber));
		__atomic_fetch_add(&launches, 1, __ATOMIC_RELAXED);
		yield(fiber);
		GPU_CHECK(GPU_LAUNCH(nullptr, 1000, from_fiber));
		__atomic_fetch_add(&launches, 1, __ATOMIC_RELAXED);
	}
	asm volatile("");
}

static void fiber_main(unsigned int low, unsigned int high)
{
	struct fiber *fiber = (struct fiber *)((uintptr_t)high << 32 | low);

	for (int i = 0; i < rounds; i++)
		launch_at_depth(fiber, (fiber->depth + i) % 8);
	fiber->is_done = true;
	yield(fiber);
}

/* A stack between two pages that cannot be touched. */
static void make(struct fiber *fiber, int number)
{
	uintptr_t self = (uintptr_t)fiber;

	fiber->memory = (char *)mmap(nullptr, STACK_BYTES + 2 * PAGE, PROT_NONE,
				     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	HOST_CHECK(fiber->memory != MAP_FAILED);
	HOST_CHECK(mprotect(fiber->memory + PAGE, STACK_BYTES, PROT_READ | PROT_WRITE) == 0);
	fiber->depth = number;
	fiber->is_done = false;
	getcontext(&fiber->inside);
	fiber->inside.uc_stack.ss_sp = fiber->memory + PAGE;
	fiber->inside.uc_stack.ss_size = STACK_BYTES;
	fiber->inside.uc_link = nullptr;
	makecontext(&fiber->inside, (void (*)())fiber_main, 2, (unsigned int)self,
		    (unsigned int)(self >> 32));
}

/* All fibers go one step; each in the next thread at the next step. */
static void *thread_main(void *number)
{
	int thread = (int)(intptr_t)number;

	for (int generation = 0; generation < generations; generation++) {
		for (int i = thread; i < fiber_count; i += THREADS)
			make(&fibers[i], i);
		for (int step = 0; step <= rounds; step++) {
			pthread_barrier_wait(&everybody);
			for (int i = (thread + step) % THREADS; i < fiber_count; i += THREADS)
				swapcontext(&fibers[i].outside, &fibers[i].inside);
		}
		pthread_barrier_wait(&everybody);
		for (int i = thread; i < fiber_count; i += THREADS) {
			HOST_CHECK(fibers[i].is_done);
			munmap(fibers[i].memory, STACK_BYTES + 2 * PAGE);
		}
		pthread_barrier_wait(&everybody);
	}
	return nullptr;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];

	fiber_count = argc > 1 ? atoi(argv[1]) : 40;
	rounds = argc > 2 ? atoi(argv[2]) : 25;
	fibers = new struct fiber[(size_t)fiber_count];
	pthread_barrier_init(&everybody, nullptr, THREADS);
	for (int i = 0; i < THREADS; i++)
		HOST_CHECK(pthread_create(&threads[i], nullptr, thread_main, (void *)(intptr_t)i) ==
			   0);
	for (auto thread : threads)
		pthread_join(thread, nullptr);
	GPU_CHECK(cudaDeviceSynchronize());
	HOST_CHECK(launches == 2L * fiber_count * rounds * generations);
	printf("launches %ld\n", launches);
	return 0;
}
