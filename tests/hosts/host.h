/* SPDX-License-Identifier: MIT */
/*
 * Code that hosts share. A host does something awkward but legal around its launches, checks that
 * nothing in it has changed, and prints "launches N" at its end: how many kernels it launched.
 */
#ifndef TESTS_HOSTS_HOST_H
#define TESTS_HOSTS_HOST_H

#include "../workloads/gpu.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <string>
#include <unistd.h>

/* Size of the stacks that hosts make: NVIDIA's libraries need more than the stand-ins. */
#ifdef __CUDACC__
#define HOST_STACK_BYTES (512 << 10)
#else
#define HOST_STACK_BYTES (64 << 10)
#endif

/* Ends the host with status 1 and a message if something is not as it must be. */
#define HOST_CHECK(condition)                                                                 \
	do {                                                                                  \
		if (!(condition)) {                                                           \
			fprintf(stderr, "%s:%d: not so: %s (errno %d)\n", __FILE__, __LINE__, \
				#condition, errno);                                           \
			_exit(1);                                                             \
		}                                                                             \
	} while (0)

/* Calls a function from another stack for each depth. */
[[maybe_unused]] NOINLINE static void call_at_depth(int depth, void (*function)())
{
	if (depth > 0)
		call_at_depth(depth - 1, function);
	else
		function();
	asm volatile("");
}

/* Returns the resident memory of this process, KiB. */
static inline long resident_kb()
{
	long pages = 0;
	FILE *file = fopen("/proc/self/statm", "r");

	HOST_CHECK(file && fscanf(file, "%*d %ld", &pages) == 1);
	fclose(file);
	return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

/* From a line of a file of /proc, behind "NAME:"; empty: there is none. */
static inline std::string read_field(const std::string &path, const char *name)
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
static inline std::string find_thread(const char *name)
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

static inline long count_sleeps(const std::string &thread)
{
	return atol(read_field(thread, "voluntary_ctxt_switches").c_str());
}

/*
 * Waits until the library's thread has slept so often that it has sent all there was in between.
 * Without a profiler there is none.
 */
static inline void await_flush()
{
	enum { TIMES = 20, TIMEOUT_MS = 60000 };
	std::string thread = find_thread("profile-flush");
	long before = thread.empty() ? 0 : count_sleeps(thread);

	for (int waited_ms = 0; !thread.empty() && count_sleeps(thread) < before + TIMES;) {
		HOST_CHECK(waited_ms++ < TIMEOUT_MS);
		usleep(1000);
	}
}

/*
 * The process that started a profiled host is the profiler. It can be stopped, and goes on when the
 * host says so or has ended. Without a profiler nothing is stopped.
 */
struct host_profiler {
	pid_t pid = getenv("PROFILE_PIPE") ? getppid() : 0;

	/* To be called before the first CUDA call. */
	void keep_alive()
	{
		int alive[2];
		char byte;

		HOST_CHECK(pipe(alive) == 0);
		if (fork() == 0) {
			/* reads the end of the file when the host has ended */
			close(alive[1]);
			(void)!read(alive[0], &byte, 1);
			go_on();
			_exit(0);
		}
		close(alive[0]);
	}

	void stop() const
	{
		if (pid)
			kill(pid, SIGSTOP);
	}

	void go_on() const
	{
		if (pid)
			kill(pid, SIGCONT);
	}
};

#endif
