/* SPDX-License-Identifier: MIT */
/*
 * stale_words: a coroutine's stack lies in the thread's own, and begins well below an unreadable
 * page. What is between are words of earlier calls, of one of several stacks that launched from the
 * same addresses as the coroutine.
 */
#include "guarded.h"

enum { UNUSED = 2000, BELOW = 400, STEP = 16, REPEATS = 20, ROUNDS = 30 };

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

static void run_coroutines(char *stack)
{
	for (int i = 0; i < ROUNDS; i++)
		run_guarded(stack, (size_t)(STACK - UNUSED - i * STEP), launch_in_coroutine);
}

int main()
{
	char *guard;

	GPU_CHECK(cudaDeviceSynchronize());
	for (int callers = 1; callers <= 3; callers++) {
		guard = with_stack(false, nullptr);
		for (int below = 0; below < BELOW; below += STEP)
			for (int i = 0; i < REPEATS * callers; i++)
				descend(guard, guard - UNUSED - below, i % callers);
		/* the first one's words remain */
		descend(guard, guard - UNUSED - 8000, 0);
		with_stack(false, run_coroutines);
	}
	GPU_CHECK(cudaDeviceSynchronize());
	printf("launches %ld\n", launches);
	return 0;
}
