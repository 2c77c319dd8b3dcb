/* SPDX-License-Identifier: MIT */
/*
 * stale_words: a coroutine's stack lies in the thread's own, and begins well below an unreadable
 * page. What is between are words of earlier calls, of one of several stacks that launched from the
 * same addresses as the coroutine.
 */
#include "host.h"

#include <alloca.h>
#include <sys/mman.h>
#include <ucontext.h>

GPU_KERNEL(tiny)

enum {
	PAGE = 4096,
	STACK = 256 << 10,
	UNUSED = 2000,
	BELOW = 400,
	STEP = 16,
	REPEATS = 20,
	ROUNDS = 30
};

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

/* From frames that begin at the same address as a coroutine's below `top`. */
NOINLINE static void launch_below(char *top)
{
	char *here = (char *)__builtin_frame_address(0);
	volatile char *room = (volatile char *)alloca((size_t)(here - top));

	room[0] = 1;
	launch_in_coroutine();
	asm volatile("" : : "r"(room) : "memory");
}

/* With frames on both sides of the page's beginning; those next to it have one of three callers. */
NOINLINE static void descend(char *guard, char *top, int caller)
{
	char *here = (char *)__builtin_frame_address(0);
	volatile char room[120];

	room[0] = 1;
	if (here < guard - UNUSED + BELOW) {
		launch_below(top);
	} else if (here < guard + 500 && caller == 1) {
		descend(guard, top, caller);
		asm volatile("# 1");
	} else if (here < guard + 500 && caller == 2) {
		descend(guard, top, caller);
		asm volatile("# 2");
	} else {
		descend(guard, top, caller);
		asm volatile("# 0");
	}
	asm volatile("" : : "r"(room) : "memory");
}

static void run_coroutine(char *stack, size_t size)
{
	HOST_CHECK(mprotect(stack + STACK, PAGE, PROT_NONE) == 0);
	HOST_CHECK(getcontext(&inside) == 0);
	inside.uc_stack.ss_sp = stack;
	inside.uc_stack.ss_size = size;
	inside.uc_link = &outside;
	makecontext(&inside, launch_in_coroutine, 0);
	HOST_CHECK(swapcontext(&outside, &inside) == 0);
	HOST_CHECK(mprotect(stack + STACK, PAGE, PROT_READ | PROT_WRITE) == 0);
}

NOINLINE static char *with_stack(int coroutines)
{
	char *room = (char *)alloca(STACK + 3 * PAGE);
	char *stack = (char *)(((uintptr_t)room + PAGE - 1) & ~(uintptr_t)(PAGE - 1));

	for (int i = 0; i < coroutines; i++)
		run_coroutine(stack, (size_t)(STACK - UNUSED - i * STEP));
	return stack + STACK;
}

int main()
{
	char *guard;

	GPU_CHECK(cudaDeviceSynchronize());
	for (int callers = 1; callers <= 3; callers++) {
		guard = with_stack(0);
		for (int below = 0; below < BELOW; below += STEP)
			for (int i = 0; i < REPEATS * callers; i++)
				descend(guard, guard - UNUSED - below, i % callers);
		/* the first one's words remain */
		descend(guard, guard - UNUSED - 8000, 0);
		with_stack(ROUNDS);
	}
	GPU_CHECK(cudaDeviceSynchronize());
	printf("launches %ld\n", launches);
	return 0;
}
