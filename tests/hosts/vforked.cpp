/* SPDX-License-Identifier: MIT */
/*
 * vforked [CHILDREN=10]: starts itself by vfork and exec, and by posix_spawn, while work is queued
 * and another thread launches. Each child is a program of its own that launches 5 times.
 */
#include "host.h"

#include <atomic>
#include <pthread.h>
#include <spawn.h>
#include <sys/wait.h>

GPU_KERNEL(in_parent)
GPU_KERNEL(in_thread)
GPU_KERNEL(in_child)

enum { OF_CHILD = 5 };

static long launches, of_thread;
static std::atomic<bool> stops;

static int be_child()
{
	for (int i = 0; i < OF_CHILD; i++)
		GPU_CHECK(GPU_LAUNCH(nullptr, 1000, in_child));
	GPU_CHECK(cudaDeviceSynchronize());
	return 7;
}

static void *launch_on(void *)
{
	for (; !stops; of_thread++)
		GPU_CHECK(GPU_LAUNCH(nullptr, 1000, in_thread));
	return nullptr;
}

static void launch_and_wait_for(pid_t pid)
{
	int status;

	for (int i = 0; i < 100; i++, launches++)
		GPU_CHECK(GPU_LAUNCH(nullptr, 1000, in_parent));
	HOST_CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
	HOST_CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
	launches += OF_CHILD;
}

int main(int argc, char **argv)
{
	char path[] = "/proc/self/exe", child[] = "child";
	char *arguments[] = {path, child, nullptr};
	int children = argc > 1 ? atoi(argv[1]) : 10;
	pthread_t thread;
	pid_t pid;

	if (argc > 1 && strcmp(argv[1], child) == 0)
		return be_child();
	GPU_CHECK(cudaDeviceSynchronize());
	HOST_CHECK(pthread_create(&thread, nullptr, launch_on, nullptr) == 0);
	for (int i = 0; i < children; i++) {
		pid = vfork();
		if (pid == 0) {
			execv(path, arguments);
			_exit(1);
		}
		launch_and_wait_for(pid);
		HOST_CHECK(posix_spawn(&pid, path, nullptr, nullptr, arguments, environ) == 0);
		launch_and_wait_for(pid);
	}
	stops = true;
	pthread_join(thread, nullptr);
	GPU_CHECK(cudaDeviceSynchronize());
	printf("launches %ld\n", launches + of_thread);
	return 0;
}
