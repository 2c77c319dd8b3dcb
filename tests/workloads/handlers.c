// SPDX-License-Identifier: MIT
/*
 * handlers CASE [CPU_MS=300]: no CUDA. A signal handler on an alternate stack works in in_handler.
 * The signal interrupts deep_work, which is called by way of LEVELS frames of descend. Cases:
 *
 *   apart      the alternate stack is in another mapping
 *   below      in the data segment, below all stacks
 *   within     in the frame of a caller of the interrupted function
 *   nested     the handler raises another signal, whose handler works in its place
 *   large      the handler has 40 KiB on its stack
 *   thread     as `apart`, in another thread
 *   coroutine  the signal interrupts a context of makecontext
 *   overflow   the interrupted thread has no stack left, and its stack pointer leads nowhere
 *   kernel, null, code
 *              the handler makes the interrupted stack pointer one that is none while it works
 *   unused     no signal: the program's own stack is named as the alternate one
 */
#define _GNU_SOURCE // REG_RSP
#include "burn.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))
#define BYTES 65536
#define LEVELS 5

static const char *which;
static unsigned long cpu_ms = 300;
static char below[BYTES];
static ucontext_t own, other;

static bool is_case(const char *name)
{
	return strcmp(which, name) == 0;
}

NOINLINE static void in_handler(void)
{
	burn(cpu_ms * 1000000);
}

NOINLINE static void with_much_stack(void)
{
	volatile char much[40960];

	much[0] = 1;
	in_handler();
	much[1] = much[0];
}

static void on_other_signal(int number)
{
	(void)number;
	in_handler();
}

/* Works while the signal's frame has another stack pointer in it. */
NOINLINE static void with_stack_pointer(ucontext_t *context, greg_t sp)
{
	greg_t was = context->uc_mcontext.gregs[REG_RSP];

	context->uc_mcontext.gregs[REG_RSP] = sp;
	in_handler();
	context->uc_mcontext.gregs[REG_RSP] = was;
}

static void on_signal(int number, siginfo_t *info, void *context)
{
	(void)info;
	if (is_case("nested"))
		raise(SIGUSR2);
	else if (is_case("large"))
		with_much_stack();
	else if (is_case("kernel"))
		with_stack_pointer(context, (greg_t)0xffffffff81000000);
	else if (is_case("null"))
		with_stack_pointer(context, 8);
	else if (is_case("code"))
		with_stack_pointer(context, (greg_t)(uintptr_t)in_handler);
	else
		in_handler();
	if (number == SIGSEGV)
		_exit(0);
}

static void use_stack(void *memory)
{
	stack_t stack = {.ss_sp = memory, .ss_size = BYTES};

	if (sigaltstack(&stack, NULL) != 0)
		exit(2);
}

static void *map_stack(void)
{
	void *memory =
		mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		exit(2);
	return memory;
}

NOINLINE static void deep_work(void)
{
	if (is_case("unused"))
		in_handler();
	else
		raise(SIGUSR1);
	__asm__ volatile("");
}

NOINLINE static void descend(int levels)
{
	if (levels > 0)
		descend(levels - 1);
	else
		deep_work();
	__asm__ volatile("");
}

NOINLINE static int overflow(int levels)
{
	volatile char frame[512];

	frame[0] = (char)levels;
	return levels ? overflow(levels - 1) + frame[0] : 0;
}

static void *run(void *memory)
{
	use_stack(memory);
	if (is_case("overflow"))
		overflow(100000); /* more than there is room for */
	descend(LEVELS);
	return NULL;
}

static void run_within(void)
{
	char memory[BYTES];

	run(memory);
}

/* The program's stack is named as the alternate one: its last BYTES, from here on. */
static void run_unused(void)
{
	char here;

	use_stack(&here - BYTES + 1024);
	descend(LEVELS);
}

static void run_in_thread(void)
{
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, BYTES);
	if (pthread_create(&thread, &attributes, run, map_stack()) != 0)
		exit(2);
	pthread_join(thread, NULL);
}

static void in_coroutine(void)
{
	run(map_stack());
}

static void run_in_coroutine(void)
{
	getcontext(&other);
	other.uc_stack = (stack_t){.ss_sp = map_stack(), .ss_size = BYTES};
	other.uc_link = &own;
	makecontext(&other, in_coroutine, 0);
	swapcontext(&own, &other);
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_ONSTACK | SA_SIGINFO};

	which = argc > 1 ? argv[1] : "apart";
	if (argc > 2)
		cpu_ms = strtoul(argv[2], NULL, 10);
	sigaction(SIGUSR1, &action, NULL);
	sigaction(SIGSEGV, &action, NULL);
	action.sa_flags = SA_ONSTACK;
	action.sa_handler = on_other_signal;
	sigaction(SIGUSR2, &action, NULL);
	if (is_case("thread") || is_case("overflow"))
		run_in_thread();
	else if (is_case("coroutine"))
		run_in_coroutine();
	else if (is_case("within"))
		run_within();
	else if (is_case("unused"))
		run_unused();
	else
		run(is_case("below") ? below : map_stack());
	return 0;
}
