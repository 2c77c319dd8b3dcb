/* SPDX-License-Identifier: MIT */
/*
 * What hosts share. A host does something awkward but legal around its launches, checks that
 * nothing in it has changed, and prints "launches N" at its end: how many kernels it launched.
 */
#ifndef TESTS_HOSTS_HOST_H
#define TESTS_HOSTS_HOST_H

#include "../workloads/gpu.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

/* Of the stacks that hosts make: NVIDIA's libraries need more than the stand-ins. */
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

/* Of this process, in memory. */
static inline long resident_kb()
{
	long pages = 0;
	FILE *file = fopen("/proc/self/statm", "r");

	HOST_CHECK(file && fscanf(file, "%*d %ld", &pages) == 1);
	fclose(file);
	return pages * (sysconf(_SC_PAGESIZE) / 1024);
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
