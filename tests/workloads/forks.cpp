/* SPDX-License-Identifier: MIT */
/*
 * forks: one process tree with every way in which CUDA and fork meet.
 *
 *   early child	forked before CUDA is initialised; initialises it itself (5 launches)
 *   parent		initialises CUDA (10 launches before the forks, 10 after)
 *   plain child	forked after that, no exec: CUDA must fail with error 3; burns 50 ms of CPU
 *			and leaves through exit(), so that exit handlers of the parent's run in it
 *   exec child		fork and exec of this program, which uses CUDA as a program of its own (7)
 *
 * Prints the sum of launches that succeeded: 32.
 */
#include "gpu.h"
#include "burn.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

GPU_KERNEL(parent_kernel)
GPU_KERNEL(early_child_kernel)
GPU_KERNEL(exec_child_kernel)

enum { KERNEL_NS = 50000, EARLY = 5, PARENT = 10, EXEC = 7, NOT_INITIALIZED = 3 };

NOINLINE static void parent_launches(int n)
{
	for (int i = 0; i < n; i++)
		GPU_CHECK(GPU_LAUNCH(nullptr, KERNEL_NS, parent_kernel));
	GPU_CHECK(cudaDeviceSynchronize());
}

NOINLINE static void early_child_launches(int n)
{
	for (int i = 0; i < n; i++)
		GPU_CHECK(GPU_LAUNCH(nullptr, KERNEL_NS, early_child_kernel));
	GPU_CHECK(cudaDeviceSynchronize());
}

NOINLINE static void exec_child_launches(int n)
{
	for (int i = 0; i < n; i++)
		GPU_CHECK(GPU_LAUNCH(nullptr, KERNEL_NS, exec_child_kernel));
	GPU_CHECK(cudaDeviceSynchronize());
}

NOINLINE static void plain_child_work()
{
	burn(50000000);
}

static void wait_for(pid_t pid, const char *what)
{
	int status;

	if (pid < 0 || waitpid(pid, &status, 0) != pid) {
		perror(what);
		exit(2);
	}
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
		fprintf(stderr, "%s: wait status %d\n", what, status);
		exit(2);
	}
}

NOINLINE static void plain_child()
{
	cudaError_t err = GPU_LAUNCH(nullptr, KERNEL_NS, parent_kernel);

	if ((int)err != NOT_INITIALIZED) {
		fprintf(stderr, "a forked child's launch returned %d\n", (int)err);
		exit(2);
	}
	plain_child_work();
	exit(0);
}

int main(int argc, char **argv)
{
	pid_t pid;

	if (argc > 1 && strcmp(argv[1], "exec_child") == 0) {
		exec_child_launches(EXEC);
		return 0;
	}
	pid = fork();
	if (pid == 0) {
		early_child_launches(EARLY);
		exit(0);
	}
	wait_for(pid, "early child");

	parent_launches(PARENT);
	pid = fork();
	if (pid == 0)
		plain_child();
	wait_for(pid, "plain child");
	pid = fork();
	if (pid == 0) {
		execl("/proc/self/exe", argv[0], "exec_child", (char *)nullptr);
		_exit(127);
	}
	wait_for(pid, "exec child");
	parent_launches(PARENT);
	printf("launches %d\n", EARLY + PARENT + EXEC + PARENT);
	return 0;
}
