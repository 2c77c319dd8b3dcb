/* SPDX-License-Identifier: MIT */
/*
 * daemon FILE [PID]: becomes a daemon, closes all its descriptors, and only then starts CUDA. It
 * writes what others print to FILE, which appears when it is done; then, if PID is given, it waits
 * until that process has ended, and launches once more.
 *
 * On the stand-ins it closes all descriptors again while it launches; NVIDIA's driver does not
 * survive that.
 */
#include "host.h"

#include <fcntl.h>
#include <string>

GPU_KERNEL(in_daemon)

static long launches;

NOINLINE static void launch_some()
{
	for (int i = 0; i < 500; i++, launches++)
		GPU_CHECK(GPU_LAUNCH(nullptr, 1000, in_daemon));
	GPU_CHECK(cudaDeviceSynchronize());
}

/* Its descriptors would be anybody's. */
static void close_all()
{
#ifdef __CUDACC__
	usleep(100000);
#else
	closefrom(3);
	usleep(100000); /* something is sent meanwhile */
	HOST_CHECK(close_range(3, ~0U, 0) == 0);
#endif
}

/* Also if its parent has not noticed. */
static bool has_ended(const char *pid)
{
	std::string path = std::string("/proc/") + pid + "/exe";
	char program[2];

	return readlink(path.c_str(), program, sizeof(program)) < 0;
}

int main(int argc, char **argv)
{
	std::string made, done;
	const char *pid = argc > 2 ? argv[2] : nullptr;
	char text[64];
	int fd, length;

	if (argc < 2)
		return 1;
	done = argv[1];
	made = done + ".new";
	HOST_CHECK(daemon(1, 0) == 0);
	closefrom(3);
	launch_some();
	close_all();
	launch_some();
	close_all();
	launch_some();
	fd = open(made.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
	HOST_CHECK(fd >= 0);
	length = snprintf(text, sizeof(text), "launches %ld\n", launches + (pid ? 500 : 0));
	HOST_CHECK(write(fd, text, (size_t)length) == length && close(fd) == 0);
	if (pid)
		close_all();
	HOST_CHECK(rename(made.c_str(), done.c_str()) == 0);
	if (!pid)
		return 0;
	while (!has_ended(pid))
		usleep(1000);
	usleep(300000); /* who takes it for gone has left */
	launch_some();
	return 0;
}
