/* SPDX-License-Identifier: MIT */
/*
 * leaves HOW: launches 1,000 times, waits for the work and until it is reported, prints so,
 * launches 1,000 times more, waits for that, and leaves at once: by _exit, quick_exit, exit_group
 * (the system call), exec (of true), abort, term or kill (signals); or by using up its stack, in
 * which it launches on: "overflow", or "caught" with a handler on an alternate stack that leaves by
 * _exit(5).
 */
#include "host.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>

GPU_KERNEL(first)
GPU_KERNEL(last)

static volatile bool goes_on = true;

NOINLINE static void use_up_stack(volatile char *above)
{
	volatile char here[1000];

	here[0] = above ? above[0] : 0;
	GPU_CHECK(GPU_LAUNCH(nullptr, 1000, last));
	if (goes_on)
		use_up_stack(here);
	here[1] = here[0];
}

static void catch_fault()
{
	static char memory[64 << 10];
	struct sigaction action = {};
	stack_t stack = {};

	stack.ss_sp = memory;
	stack.ss_size = sizeof(memory);
	action.sa_handler = [](int) { _exit(5); };
	action.sa_flags = SA_ONSTACK;
	HOST_CHECK(sigaltstack(&stack, nullptr) == 0 && sigaction(SIGSEGV, &action, nullptr) == 0);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	struct rlimit none = {0, 0};

	setrlimit(RLIMIT_CORE, &none);
	for (int i = 0; i < 1000; i++)
		GPU_CHECK(GPU_LAUNCH(nullptr, 1000, first));
	GPU_CHECK(cudaDeviceSynchronize());
	await_flush();
	puts("launches 1000");
	fflush(stdout);
	for (int i = 0; i < 1000; i++)
		GPU_CHECK(GPU_LAUNCH(nullptr, 1000, last));
	GPU_CHECK(cudaDeviceSynchronize());
	if (strcmp(how, "_exit") == 0)
		_exit(5);
	if (strcmp(how, "quick_exit") == 0)
		quick_exit(5);
	if (strcmp(how, "exit_group") == 0)
		syscall(SYS_exit_group, 5);
	if (strcmp(how, "exec") == 0)
		execlp("true", "true", nullptr);
	if (strcmp(how, "abort") == 0)
		abort();
	if (strcmp(how, "term") == 0)
		raise(SIGTERM);
	if (strcmp(how, "kill") == 0)
		raise(SIGKILL);
	if (strcmp(how, "caught") == 0)
		catch_fault();
	use_up_stack(nullptr);
	return 1;
}
