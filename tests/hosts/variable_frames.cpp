/* SPDX-License-Identifier: MIT */
/*
 * variable_frames: a function launches with its stack pointer always at one place, wherever its
 * frame begins: now above a page, now in a coroutine's stack below it, where that page is
 * unreadable. Only the saved frame pointer tells one from the other.
 */
#include "host.h"

#include <alloca.h>
#include <sys/mman.h>
#include <ucontext.h>

GPU_KERNEL(tiny)

enum { PAGE = 4096, STACK = 256 << 10, ROUNDS = 30, REPEATS = 20 };

static ucontext_t outside, inside;
static char *place;
static long launches;

NOINLINE static void launch()
{
	GPU_CHECK(GPU_LAUNCH(nullptr, 1000, tiny));
	launches++;
	asm volatile("");
}

NOINLINE static void launch_there()
{
	char *here = (char *)__builtin_frame_address(0);
	volatile char *room = (volatile char *)alloca((size_t)(here - place));

	room[0] = 1;
	launch();
	asm volatile("" : : "r"(room) : "memory");
}

/* With frames in the page that is unreadable at other times. */
NOINLINE static void descend(char *guard)
{
	volatile char room[200];

	room[0] = 1;
	if ((char *)__builtin_frame_address(0) > guard + 1500)
		descend(guard);
	else
		launch_there();
	asm volatile("" : : "r"(room) : "memory");
}

static void run_coroutine(char *stack)
{
	HOST_CHECK(mprotect(stack + STACK, PAGE, PROT_NONE) == 0);
	HOST_CHECK(getcontext(&inside) == 0);
	inside.uc_stack.ss_sp = stack;
	inside.uc_stack.ss_size = STACK;
	inside.uc_link = &outside;
	makecontext(&inside, launch_there, 0);
	HOST_CHECK(swapcontext(&outside, &inside) == 0);
	HOST_CHECK(mprotect(stack + STACK, PAGE, PROT_READ | PROT_WRITE) == 0);
}

NOINLINE static char *with_stack(bool is_used)
{
	char *room = (char *)alloca(STACK + 3 * PAGE);
	char *stack = (char *)(((uintptr_t)room + PAGE - 1) & ~(uintptr_t)(PAGE - 1));

	place = stack + STACK - 1000;
	if (is_used)
		run_coroutine(stack);
	return stack + STACK;
}

int main()
{
	char *guard;

	GPU_CHECK(cudaDeviceSynchronize());
	for (int round = 0; round < ROUNDS; round++) {
		guard = with_stack(false);
		for (int i = 0; i < REPEATS; i++)
			descend(guard);
		with_stack(true);
	}
	GPU_CHECK(cudaDeviceSynchronize());
	printf("launches %ld\n", launches);
	return 0;
}
