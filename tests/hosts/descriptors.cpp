/* SPDX-License-Identifier: MIT */
/*
 * descriptors: starts CUDA with the standard descriptors closed; then puts a file of its own in the
 * place of each named pipe that somebody opened, then closes each. What it writes must be in its
 * file, nothing else, and its descriptors must stay.
 *
 * On a GPU the standard descriptors are open when CUDA starts: NVIDIA's driver would take them for
 * its devices, and lose those to what the program puts there.
 */
#include "host.h"

#include <fcntl.h>
#include <sys/stat.h>

GPU_KERNEL(tiny)

enum { HIGHEST = 65536, EACH = 2000 };

static long launches;

NOINLINE static void launch_some()
{
	for (int i = 0; i < EACH; i++, launches++)
		GPU_CHECK(GPU_LAUNCH(nullptr, 1000, tiny));
	GPU_CHECK(cudaDeviceSynchronize());
	usleep(300000); /* what is flushed now and then is flushed */
}

/* One with a name: others may be the driver's. */
static bool is_pipe(int fd)
{
	char link[64], path[8] = "";
	struct stat st;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	return fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode) &&
	       readlink(link, path, sizeof(path)) > 0 && path[0] == '/';
}

/* Puts `fd` in the place of all pipes above `from`, or closes them if it is -1. Returns how many.
 */
static int replace_pipes(int from, int fd)
{
	int count = 0;

	for (int i = from; i < HIGHEST; i++) {
		if (!is_pipe(i))
			continue;
		HOST_CHECK(fd < 0 ? close(i) == 0 : dup2(fd, i) == i);
		count++;
	}
	return count;
}

static int count_copies(int from, int original, const struct stat *file)
{
	struct stat st;
	int count = 0;

	for (int i = from; i < HIGHEST; i++)
		count += i != original && fstat(i, &st) == 0 && st.st_dev == file->st_dev &&
			 st.st_ino == file->st_ino;
	return count;
}

int main()
{
	int standard[3], data, from, replaced;
	struct stat st;
	char byte;

	for (int i = 0; i < 3; i++) {
		standard[i] = fcntl(i, F_DUPFD_CLOEXEC, 10);
		HOST_CHECK(standard[i] >= 10);
	}
	from = standard[2] + 1;
#ifdef __CUDACC__
	launch_some();
#endif
	for (int i = 0; i < 3; i++)
		close(i);
	launch_some();
	/* to nobody */
	for (int i = 1; i < 3; i++) {
		errno = 0;
		if (write(i, "x", 1) != -1 || errno != EBADF)
			return 3;
	}
	if (read(0, &byte, 1) != -1 || errno != EBADF)
		return 4;
	for (int i = 0; i < 3; i++)
		HOST_CHECK(dup2(standard[i], i) == i);

	data = open("data", O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0600);
	HOST_CHECK(data >= 0 && write(data, "mine\n", 5) == 5 && fstat(data, &st) == 0);
	replaced = replace_pipes(from, data);
	launch_some();
	HOST_CHECK(count_copies(from, data, &st) == replaced);
	replace_pipes(from, -1);
	launch_some();
	HOST_CHECK(count_copies(from, data, &st) == replaced);
	HOST_CHECK(fstat(data, &st) == 0 && st.st_size == 5);
	printf("launches %ld\n", launches);
	return 0;
}
