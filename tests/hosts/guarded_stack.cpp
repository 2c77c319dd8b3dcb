/* SPDX-License-Identifier: MIT */
/*
 * guarded_stack: a coroutine's stack lies in the thread's own, between frames, with an unreadable
 * page above it. Launches came from the same addresses before, and come again after, without it.
 */
#include "host.h"

#include <alloca.h>
#include <sys/mman.h>
#include <ucontext.h>

GPU_KERNEL(tiny)

enum { PAGE = 4096, STACK = 256 << 10, STEP = 16, ROUNDS = 30 };

static ucontext_t outside, inside;
static long launches;

NOINLINE static void launch()
{
	GPU_CHECK(GPU_LAUNCH(nullptr, 1000, tiny));
	launches++;
	asm volatile("");
}

NOINLINE static void launch_in_coroutine()
{
	launch();
	launch();
	asm volatile("");
}

/* Plainly, from frames that begin at the same address as a coroutine's below `top`. */
NOINLINE static void launch_below(char *top)
{
	char *here = (char *)__builtin_frame_address(0);
	volatile char *room = (volatile char *)alloca((size_t)(here - top));

	room[0] = 1;
	launch_in_coroutine();
	asm volatile("" : : "r"(room) : "memory");
}

/* With frames in all of the page that is unreadable at other times. */
NOINLINE static void descend(char *guard, int below)
{
	volatile char room[200];

	room[0] = 1;
	if ((char *)__builtin_frame_address(0) > guard - 100)
		descend(guard, below);
	else
		launch_below(guard - 1000 - below);
	asm volatile("" : : "r"(room) : "memory");
}

static void launch_plainly(char *guard)
{
	for (int below = 0; below < PAGE; below += STEP)
		descend(guard, below);
}

static void run_coroutines(char *stack)
{
	HOST_CHECK(mprotect(stack + STACK, PAGE, PROT_NONE) == 0);
	for (int i = 0; i < ROUNDS; i++) {
		HOST_CHECK(getcontext(&inside) == 0);
		inside.uc_stack.ss_sp = stack;
		inside.uc_stack.ss_size = (size_t)(STACK - 1200 - i * STEP);
		inside.uc_link = &outside;
		makecontext(&inside, launch_in_coroutine, 0);
		HOST_CHECK(swapcontext(&outside, &inside) == 0);
	}
	HOST_CHECK(mprotect(stack + STACK, PAGE, PROT_READ | PROT_WRITE) == 0);
}

NOINLINE static char *with_stack(bool is_used)
{
	char *room = (char *)alloca(STACK + 3 * PAGE);
	char *stack = (char *)(((uintptr_t)room + PAGE - 1) & ~(uintptr_t)(PAGE - 1));

	memset(room, 0, STACK + 3 * PAGE);
	if (is_used)
		run_coroutines(stack);
	return stack + STACK;
}

int main()
{
	char *guard;

	GPU_CHECK(cudaDeviceSynchronize());
	guard = with_stack(false);
	launch_plainly(guard);
	with_stack(true);
	launch_plainly(guard);
	with_stack(true);
	GPU_CHECK(cudaDeviceSynchronize());
	printf("launches %ld\n", launches);
	return 0;
}
