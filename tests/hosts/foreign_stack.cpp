/* SPDX-License-Identifier: MIT */
/*
 * foreign_stack [CALLS=1000]: calls functions that launch on another stack, as a runtime does that
 * calls C from small stacks of its own (cgo): the stack pointer is changed for the call, no context
 * is kept, and the frame pointer leads nowhere or back. The other stack is on the heap, in static
 * memory, or at the very end of a mapping.
 */
#include "host.h"

#include <sys/mman.h>

GPU_KERNEL(on_foreign_stack)

enum { STACK_BYTES = HOST_STACK_BYTES };

static long launches;
alignas(64) static char in_static_memory[STACK_BYTES];

NOINLINE static void launch()
{
	GPU_CHECK(GPU_LAUNCH(nullptr, 1000, on_foreign_stack));
	launches++;
}

/* Calls `function` with the stack pointer at `top`, and rbp holding `rbp`. */
extern "C" void call_on(void (*function)(), void *top, uintptr_t rbp);
asm(R"(
	.text
	.globl call_on
	.type call_on, @function
call_on:
	push	%rbp
	push	%rbx
	mov	%rsp, %rbx
	mov	%rsi, %rsp
	mov	%rdx, %rbp
	call	*%rdi
	mov	%rbx, %rsp
	pop	%rbx
	pop	%rbp
	ret
	.size call_on, .-call_on
)");

int main(int argc, char **argv)
{
	long calls = argc > 1 ? atol(argv[1]) : 1000;
	char *on_heap = (char *)aligned_alloc(64, STACK_BYTES);
	char *mapped = (char *)mmap(nullptr, STACK_BYTES + 4096, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uintptr_t back = (uintptr_t)__builtin_frame_address(0);

	HOST_CHECK(on_heap && mapped != MAP_FAILED);
	HOST_CHECK(mprotect(mapped + STACK_BYTES, 4096, PROT_NONE) == 0);
	for (long i = 0; i < calls; i++) {
		call_on(launch, on_heap + STACK_BYTES, 0);
		call_on(launch, in_static_memory + STACK_BYTES, 1);
		call_on(launch, mapped + STACK_BYTES, back);
		call_on(launch, mapped + STACK_BYTES, (uintptr_t)mapped + STACK_BYTES);
		launch();
	}
	GPU_CHECK(cudaDeviceSynchronize());
	printf("launches %ld\n", launches);
	return 0;
}
