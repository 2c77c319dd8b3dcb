/* SPDX-License-Identifier: MIT */
/*
 * other_user [TIMES=100]: becomes another user and itself again while four threads launch, which
 * the C library has each thread do by a signal of its own; in the end the other user for good, who
 * may not open the library's pipe. Needs root.
 */
#include "host.h"

#include <atomic>
#include <grp.h>
#include <pthread.h>

GPU_KERNEL(tiny)

enum { THREADS = 4, OTHER = 65534, DEPTH = 100 };

static std::atomic<bool> ends;
static std::atomic<long> launches;

static void launch()
{
	GPU_CHECK(GPU_LAUNCH(nullptr, 1000, tiny));
}

static void *launch_on(void *)
{
	for (int i = 0; !ends; i++, launches++) {
		call_at_depth(i % DEPTH, launch);
		usleep(10);
	}
	return nullptr;
}

static void become(uid_t user, uid_t saved)
{
	/* as root first, whichever way it goes */
	HOST_CHECK(setresuid(0, 0, 0) == 0);
	HOST_CHECK(setresgid(user, user, saved) == 0 && setresuid(user, user, saved) == 0);
}

int main(int argc, char **argv)
{
	int times = argc > 1 ? atoi(argv[1]) : 100;
	pthread_t threads[THREADS];

	GPU_CHECK(GPU_LAUNCH(nullptr, 1000, tiny));
	launches++;
	for (pthread_t &thread : threads)
		HOST_CHECK(pthread_create(&thread, nullptr, launch_on, nullptr) == 0);
	for (int i = 0; i < times; i++) {
		become(OTHER, 0);
		usleep(500);
		become(0, 0);
	}
	HOST_CHECK(setgroups(0, nullptr) == 0);
	become(OTHER, OTHER);
	usleep(100000);
	ends = true;
	for (pthread_t thread : threads)
		pthread_join(thread, nullptr);
	/* from stacks that are new */
	for (int i = 0; i < DEPTH; i++, launches++)
		call_at_depth(DEPTH + i, launch);
	GPU_CHECK(cudaDeviceSynchronize());
	printf("launches %ld\n", launches.load());
	return 0;
}
