/* SPDX-License-Identifier: MIT */
/*
 * fork_handlers [CHILDREN=20]: handlers of fork launch in the parent, before and after each fork,
 * also ones that were registered before CUDA started, while another thread launches. Each child
 * ends with status 3, by _exit, exit or quick_exit.
 */
#include "host.h"

#include <atomic>
#include <pthread.h>
#include <sys/wait.h>

GPU_KERNEL(in_handler)
GPU_KERNEL(in_thread)

enum { DEPTH = 20, STATUS = 3 };

static std::atomic<bool> ends;
static std::atomic<long> launches;

static void launch()
{
	GPU_CHECK(GPU_LAUNCH(nullptr, 1000, in_handler));
}

static void launch_in_handler()
{
	for (int i = 0; i < DEPTH; i++, launches++)
		call_at_depth(i, launch);
}

static void *launch_on(void *)
{
	for (; !ends; launches++) {
		GPU_CHECK(GPU_LAUNCH(nullptr, 1000, in_thread));
		usleep(100);
	}
	return nullptr;
}

static void leave(int child)
{
	if (child % 3 == 0)
		_exit(STATUS);
	if (child % 3 == 1)
		exit(STATUS);
	quick_exit(STATUS);
}

int main(int argc, char **argv)
{
	int children = argc > 1 ? atoi(argv[1]) : 20, status;
	pthread_t thread;

	HOST_CHECK(pthread_atfork(launch_in_handler, launch_in_handler, nullptr) == 0);
	GPU_CHECK(GPU_LAUNCH(nullptr, 1000, in_handler));
	launches++;
	HOST_CHECK(pthread_atfork(launch_in_handler, launch_in_handler, nullptr) == 0);
	HOST_CHECK(pthread_create(&thread, nullptr, launch_on, nullptr) == 0);
	for (int i = 0; i < children; i++) {
		pid_t pid = fork();

		HOST_CHECK(pid >= 0);
		if (pid == 0)
			leave(i);
		HOST_CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
			   WEXITSTATUS(status) == STATUS);
	}
	ends = true;
	pthread_join(thread, nullptr);
	GPU_CHECK(cudaDeviceSynchronize());
	printf("launches %ld\n", launches.load());
	return 0;
}
