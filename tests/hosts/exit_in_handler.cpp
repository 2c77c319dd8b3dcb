/* SPDX-License-Identifier: MIT */
/*
 * exit_in_handler: the profiler is stopped, a launch waits until it reads, and a signal handler of
 * that thread calls exit(7), which must happen. The launches fail: they have no records, which
 * another thread would wait to send.
 */
#include "host.h"

#include <pthread.h>
#include <sys/syscall.h>

GPU_KERNEL(tiny)

static struct host_profiler profiler;
static pthread_t main_thread;

/* An empty grid. */
static void launch_nothing()
{
	gpu_ns ns = 1000;
	void *args[] = {&ns};

	HOST_CHECK(cudaLaunchKernel((const void *)tiny, dim3(0), dim3(1), args, 0, nullptr) !=
		   cudaSuccess);
}

/* The main thread is in poll(2): it is the one that waits for room in the pipe. */
static bool main_polls()
{
	char path[64], text[32] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", (int)getpid());
	file = fopen(path, "r");
	HOST_CHECK(file);
	(void)!fgets(text, sizeof(text), file);
	fclose(file);
	return text[0] != 'r' && atoi(text) == SYS_poll;
}

/* Sends the signal when the main thread waits; after some tries in any case. */
static void *send_signal(void *)
{
	for (int i = 0; i < 20; i++) {
		profiler.stop();
		usleep(200000);
		if (main_polls())
			break;
		profiler.go_on();
		usleep(50000);
	}
	profiler.stop();
	pthread_kill(main_thread, SIGUSR1);
	return nullptr;
}

int main()
{
	pthread_t thread;

	profiler.keep_alive();
	GPU_CHECK(GPU_LAUNCH(nullptr, 1000, tiny));
	main_thread = pthread_self();
	signal(SIGUSR1, [](int) { exit(7); });
	HOST_CHECK(pthread_create(&thread, nullptr, send_signal, nullptr) == 0);
	for (;;)
		launch_nothing();
}
