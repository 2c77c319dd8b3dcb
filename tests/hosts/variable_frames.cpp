/* SPDX-License-Identifier: MIT */
/*
 * variable_frames: a function launches with its stack pointer always at one place, wherever its
 * frame begins: now above a page, now in a coroutine's stack below it, where that page is
 * unreadable. Only the saved frame pointer tells one from the other.
 */
#include "guarded.h"

enum { ROUNDS = 30, REPEATS = 20 };

static char *place;

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
	run_guarded(stack, STACK, launch_there);
}

int main()
{
	char *guard;

	GPU_CHECK(cudaDeviceSynchronize());
	for (int round = 0; round < ROUNDS; round++) {
		guard = with_stack(false, nullptr);
		place = guard - 1000;
		for (int i = 0; i < REPEATS; i++)
			descend(guard);
		with_stack(false, run_coroutine);
	}
	GPU_CHECK(cudaDeviceSynchronize());
	printf("launches %ld\n", launches);
	return 0;
}
