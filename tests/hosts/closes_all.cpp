/* SPDX-License-Identifier: MIT */
/*
 * closes_all [TIMES=150]: again and again closes all its descriptors and opens files of its own,
 * also under high numbers, while two threads launch without a pause. Its files hold what it wrote,
 * and stay open. What was on its way when a descriptor was closed may be lost, nothing else. On the
 * stand-ins only: NVIDIA's driver does not survive that.
 */
#include "host.h"

#include <atomic>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>

GPU_KERNEL(tiny)

enum { FILES = 4, HIGH = 4090, DEPTH = 20 };

static std::atomic<bool> ends;
static std::atomic<long> launches;

NOINLINE static void launch_at_depth(int depth)
{
	if (depth > 0)
		launch_at_depth(depth - 1);
	else
		GPU_CHECK(GPU_LAUNCH(nullptr, 1000, tiny));
	asm volatile("");
}

static void *launch_on(void *)
{
	for (int i = 0; !ends; i++, launches++)
		launch_at_depth(i % DEPTH);
	return nullptr;
}

static void use_files(int round)
{
	int files[FILES], high;
	struct stat st;

	for (int &file : files) {
		file = open("closes_all.data", O_CREAT | O_TRUNC | O_RDWR, 0600);
		HOST_CHECK(file >= 0 && write(file, "mine\n", 5) == 5);
	}
	high = fcntl(files[0], F_DUPFD, HIGH);
	HOST_CHECK(high >= HIGH || errno == EINVAL);
	usleep((useconds_t)(round % 7) * 500);
	for (int file : files)
		HOST_CHECK(fstat(file, &st) == 0 && st.st_size == 5 && close(file) == 0);
	if (high >= 0)
		HOST_CHECK(close(high) == 0);
}

int main(int argc, char **argv)
{
	int times = argc > 1 ? atoi(argv[1]) : 150;
	pthread_t threads[2];

	GPU_CHECK(GPU_LAUNCH(nullptr, 1000, tiny));
	launches++;
	for (pthread_t &thread : threads)
		HOST_CHECK(pthread_create(&thread, nullptr, launch_on, nullptr) == 0);
	for (int i = 0; i < times; i++) {
		HOST_CHECK(close_range(3, ~0U, 0) == 0);
		usleep(200);
		use_files(i);
	}
	ends = true;
	for (pthread_t thread : threads)
		pthread_join(thread, nullptr);
	GPU_CHECK(cudaDeviceSynchronize());
	printf("launches %ld\n", launches.load());
	return 0;
}
