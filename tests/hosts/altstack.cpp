/* SPDX-License-Identifier: MIT */
/*
 * altstack: launches from signal handlers that run on an alternate stack: of the main thread and of
 * others, where the stack was mapped, on the heap, or is a part of the thread's own; and where the
 * handler leaves by siglongjmp.
 */
#include "host.h"

#include <pthread.h>
#include <setjmp.h>
#include <sys/mman.h>

GPU_KERNEL(from_handler)
GPU_KERNEL(from_outside)

enum { STACK_BYTES = 4 * HOST_STACK_BYTES, EACH = 50 };

static long launches;
static thread_local sigjmp_buf outside;
static thread_local volatile bool leaves;

NOINLINE static void launch_in_handler()
{
	for (int i = 0; i < 10; i++, launches++)
		GPU_CHECK(GPU_LAUNCH(nullptr, 1000, from_handler));
}

static void on_signal(int)
{
	launch_in_handler();
	if (leaves)
		siglongjmp(outside, 1);
}

NOINLINE static void raise_at_depth(int depth)
{
	if (depth > 0)
		raise_at_depth(depth - 1);
	else
		raise(SIGUSR1);
	asm volatile("");
}

static void use_stack(void *memory)
{
	stack_t stack = {};

	stack.ss_sp = memory;
	stack.ss_size = STACK_BYTES;
	HOST_CHECK(sigaltstack(&stack, nullptr) == 0);
	for (int i = 0; i < EACH; i++) {
		GPU_CHECK(GPU_LAUNCH(nullptr, 1000, from_outside));
		launches++;
		leaves = i % 2 == 1;
		if (sigsetjmp(outside, 1) == 0)
			raise_at_depth(i % 5);
	}
	stack.ss_flags = SS_DISABLE;
	HOST_CHECK(sigaltstack(&stack, nullptr) == 0);
}

static void *use_stacks(void *argument)
{
	void *mapped = mmap(nullptr, STACK_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void *allocated = malloc(STACK_BYTES);
	char part[STACK_BYTES];

	HOST_CHECK(mapped != MAP_FAILED && allocated);
	use_stack(mapped);
	use_stack(allocated);
	use_stack(part);
	munmap(mapped, STACK_BYTES);
	free(allocated);
	return argument;
}

int main()
{
	struct sigaction action = {};

	action.sa_handler = on_signal;
	action.sa_flags = SA_ONSTACK;
	HOST_CHECK(sigaction(SIGUSR1, &action, nullptr) == 0);
	use_stacks(nullptr);
	for (int i = 0; i < 3; i++) {
		pthread_t thread;

		HOST_CHECK(pthread_create(&thread, nullptr, use_stacks, nullptr) == 0);
		pthread_join(thread, nullptr);
	}
	GPU_CHECK(cudaDeviceSynchronize());
	printf("launches %ld\n", launches);
	return 0;
}
