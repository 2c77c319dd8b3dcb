/* SPDX-License-Identifier: MIT */
/*
 * forked [CHILDREN=20]: forks without exec while work is queued. Each child tries to launch, with
 * its own thread and another, and is refused; then it leaves by exit, _exit or quick_exit. Then the
 * parent forks while another of its threads launches.
 */
#include "host.h"

#include <atomic>
#include <pthread.h>
#include <sys/wait.h>

GPU_KERNEL(in_parent)
GPU_KERNEL(in_child)

static long launches;
static int children;
static std::atomic<bool> stops;

NOINLINE static void launch_in_parent(int count)
{
	for (int i = 0; i < count; i++, launches++)
		GPU_CHECK(GPU_LAUNCH(nullptr, 1000, in_parent));
}

/* Often enough to fill whatever is kept of launches until it is sent. */
static void *launch_in_child(void *)
{
	for (int i = 0; i < 5000; i++)
		if (GPU_LAUNCH(nullptr, 1000, in_child) == cudaSuccess)
			_exit(1);
	return nullptr;
}

[[noreturn]] static void be_child(int number)
{
	pthread_t thread;

	launch_in_child(nullptr);
	if (pthread_create(&thread, nullptr, launch_in_child, nullptr) != 0)
		_exit(2);
	pthread_join(thread, nullptr);
	if (number % 3 == 0)
		exit(7);
	if (number % 3 == 1)
		_exit(7);
	quick_exit(7);
}

static void wait_for(pid_t pid)
{
	int status;

	HOST_CHECK(waitpid(pid, &status, 0) == pid);
	HOST_CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

static void *fork_on(void *)
{
	for (int i = 0; i < children; i++) {
		pid_t pid = fork();

		if (pid == 0)
			_exit(7);
		wait_for(pid);
	}
	stops = true;
	return nullptr;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	children = argc > 1 ? atoi(argv[1]) : 20;
	for (int i = 0; i < children; i++) {
		pid_t pid;

		launch_in_parent(100);
		pid = fork();
		if (pid == 0)
			be_child(i);
		launch_in_parent(100);
		wait_for(pid);
	}
	HOST_CHECK(pthread_create(&thread, nullptr, fork_on, nullptr) == 0);
	while (!stops)
		launch_in_parent(100);
	pthread_join(thread, nullptr);
	GPU_CHECK(cudaDeviceSynchronize());
	printf("launches %ld\n", launches);
	return 0;
}
