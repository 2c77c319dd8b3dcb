/* SPDX-License-Identifier: MIT */
/*
 * shifted_clock SECONDS: the wall clock that all parts of the process see is that far ahead of the
 * kernel's: so it is for who reads it, then has the kernel wait until a later time, when it is set
 * in between. The library's thread must go on with its work, and sleep between.
 */
#include "host.h"

#include <ctype.h>
#include <dirent.h>
#include <string>
#include <sys/syscall.h>
#include <time.h>

GPU_KERNEL(tiny)

enum { LAUNCHES = 1000, TIMES = 20, PATIENCE_MS = 60000 };

static long ahead_s;

extern "C" int clock_gettime(clockid_t clock, struct timespec *now) noexcept
{
	int result = (int)syscall(SYS_clock_gettime, clock, now);

	if (clock == CLOCK_REALTIME)
		now->tv_sec += ahead_s;
	return result;
}

/* From a line of a file of /proc, behind "NAME:"; empty: there is none. */
static std::string read_field(const std::string &path, const char *name)
{
	FILE *file = fopen(path.c_str(), "r");
	std::string value;
	char line[256];

	while (file && value.empty() && fgets(line, sizeof(line), file))
		if (strncmp(line, name, strlen(name)) == 0)
			value = line + strlen(name) + 2;
	if (file)
		fclose(file);
	return value.substr(0, value.find('\n'));
}

/* The /proc file of the thread with this name; empty: there is none. */
static std::string find_thread(const char *name)
{
	DIR *threads = opendir("/proc/self/task");
	std::string found;

	HOST_CHECK(threads);
	while (struct dirent *entry = readdir(threads)) {
		std::string path = std::string("/proc/self/task/") + entry->d_name + "/status";

		if (isdigit(entry->d_name[0]) && read_field(path, "Name") == name)
			found = path;
	}
	closedir(threads);
	return found;
}

static long count_sleeps(const std::string &thread)
{
	return atol(read_field(thread, "voluntary_ctxt_switches").c_str());
}

int main(int argc, char **argv)
{
	std::string thread;
	int waited_ms = 0;
	long before;

	if (argc != 2)
		return 1;
	ahead_s = atol(argv[1]);
	for (int i = 0; i < LAUNCHES; i++)
		GPU_CHECK(GPU_LAUNCH(nullptr, 1000, tiny));
	GPU_CHECK(cudaDeviceSynchronize());
	thread = find_thread("profile-flush");
	before = thread.empty() ? 0 : count_sleeps(thread);
	while (!thread.empty() && count_sleeps(thread) < before + TIMES) {
		HOST_CHECK(waited_ms++ < PATIENCE_MS);
		usleep(1000);
	}
	printf("launches %d\n", LAUNCHES);
	return 0;
}
