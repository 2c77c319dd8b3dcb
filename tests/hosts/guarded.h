/* SPDX-License-Identifier: MIT */
/*
 * Code of hosts whose coroutines have their stacks in the thread's own, between frames, below a
 * page that cannot be read meanwhile. The same addresses are used by frames at other times.
 */
#ifndef TESTS_HOSTS_GUARDED_H
#define TESTS_HOSTS_GUARDED_H

#include "host.h"

#include <alloca.h>
#include <sys/mman.h>
#include <ucontext.h>

GPU_KERNEL(tiny)

enum { PAGE = 4096, STACK = 256 << 10 };

static long launches;

NOINLINE static void launch()
{
	GPU_CHECK(GPU_LAUNCH(nullptr, 1000, tiny));
	launches++;
	asm volatile("");
}

[[maybe_unused]] NOINLINE static void launch_in_coroutine()
{
	launch();
	launch();
	asm volatile("");
}

/* Plainly, from frames that begin at the same address as a coroutine's below `top`. */
[[maybe_unused]] NOINLINE static void launch_below(char *top)
{
	char *here = (char *)__builtin_frame_address(0);
	volatile char *room = (volatile char *)alloca((size_t)(here - top));

	room[0] = 1;
	launch_in_coroutine();
	asm volatile("" : : "r"(room) : "memory");
}

/* Runs a coroutine on the lowest `size` of the STACK bytes, below the unreadable page. */
static void run_guarded(char *stack, size_t size, void (*coroutine)())
{
	static ucontext_t outside, inside;

	HOST_CHECK(mprotect(stack + STACK, PAGE, PROT_NONE) == 0);
	HOST_CHECK(getcontext(&inside) == 0);
	inside.uc_stack.ss_sp = stack;
	inside.uc_stack.ss_size = size;
	inside.uc_link = &outside;
	makecontext(&inside, coroutine, 0);
	HOST_CHECK(swapcontext(&outside, &inside) == 0);
	HOST_CHECK(mprotect(stack + STACK, PAGE, PROT_READ | PROT_WRITE) == 0);
}

/*
 * Calls `use`, unless it is NULL, with room for such a stack, which holds what earlier calls have
 * left there if it is not cleared. Returns where the page above it is: for one caller always the
 * same.
 */
NOINLINE static char *with_stack(bool is_cleared, void (*use)(char *stack))
{
	char *room = (char *)alloca(STACK + 3 * PAGE);
	char *stack = (char *)(((uintptr_t)room + PAGE - 1) & ~(uintptr_t)(PAGE - 1));

	if (is_cleared)
		memset(room, 0, STACK + 3 * PAGE);
	if (use)
		use(stack);
	return stack + STACK;
}

#endif
