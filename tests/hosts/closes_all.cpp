/* SPDX-License-Identifier: MIT */
/*
 * closes_all [TIMES=150]: again and again closes all its descriptors and opens files of its own,
 * also under high numbers, while two threads launch without a pause. Its files hold what it wrote,
 * and stay open. What was on its way when a descriptor was closed may be lost, nothing else.
 *
 * On a GPU it closes only files and pipes that have a name: NVIDIA's driver does not survive to
 * lose its own descriptors.
 */
#include "host.h"

#include <atomic>
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>

GPU_KERNEL(tiny)

enum { FILES = 4, HIGH = 4090, DEPTH = 20 };

static std::atomic<bool> ends;
static std::atomic<long> launches;

static void launch()
{
	GPU_CHECK(GPU_LAUNCH(nullptr, 1000, tiny));
}

static void *launch_on(void *)
{
	for (int i = 0; !ends; i++, launches++)
		call_at_depth(i % DEPTH, launch);
	return nullptr;
}

#ifdef __CUDACC__
static bool is_drivers(int fd)
{
	char link[64], path[16] = "";

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	return readlink(link, path, sizeof(path) - 1) <= 0 || path[0] != '/' ||
	       strncmp(path, "/dev/", 5) == 0 || strncmp(path, "/proc/", 6) == 0 ||
	       strncmp(path, "/memfd:", 7) == 0;
}
#endif

static void close_all()
{
#ifdef __CUDACC__
	DIR *descriptors = opendir("/proc/self/fd");

	HOST_CHECK(descriptors);
	while (struct dirent *entry = readdir(descriptors)) {
		int fd = atoi(entry->d_name);

		if (fd > 2 && fd != dirfd(descriptors) && !is_drivers(fd))
			close(fd); /* another thread may have done so */
	}
	closedir(descriptors);
#else
	HOST_CHECK(close_range(3, ~0U, 0) == 0);
#endif
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
		close_all();
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
