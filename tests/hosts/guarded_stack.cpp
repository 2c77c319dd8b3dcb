/* SPDX-License-Identifier: MIT */
/*
 * guarded_stack: a coroutine's stack lies in the thread's own, between frames, with an unreadable
 * page above it. Launches came from the same addresses before, and come again after, without it.
 */
#include "guarded.h"

enum { STEP = 16, ROUNDS = 30 };

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
	for (int i = 0; i < ROUNDS; i++)
		run_guarded(stack, (size_t)(STACK - 1200 - i * STEP), launch_in_coroutine);
}

int main()
{
	char *guard;

	GPU_CHECK(cudaDeviceSynchronize());
	guard = with_stack(true, nullptr);
	launch_plainly(guard);
	with_stack(true, run_coroutines);
	launch_plainly(guard);
	with_stack(true, run_coroutines);
	GPU_CHECK(cudaDeviceSynchronize());
	printf("launches %ld\n", launches);
	return 0;
}
