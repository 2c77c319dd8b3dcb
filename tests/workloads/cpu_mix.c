/* SPDX-License-Identifier: MIT */
/*
 * cpu_mix [CPU_MS=1000]: no CUDA. Uses that much CPU time in all, in known shares:
 *
 *   main_work	20 %	the main thread
 *   thread_work	25 %	a second thread of it
 *   child_work	30 %	a forked child, which leaves through exit()
 *   reexec_work	25 %	a forked child that executes this program again
 *
 * The parts run at the same time. Prints the ms of CPU time that each was given.
 */
#include "burn.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))

enum { MAIN_PERCENT = 20, THREAD_PERCENT = 25, CHILD_PERCENT = 30, REEXEC_PERCENT = 25 };

static uint64_t part(unsigned long ms, unsigned int percent)
{
	return (uint64_t)ms * percent * 10000; /* ns */
}

NOINLINE static void main_work(unsigned long ms)
{
	burn(part(ms, MAIN_PERCENT));
}

NOINLINE static void thread_work(unsigned long ms)
{
	burn(part(ms, THREAD_PERCENT));
}

NOINLINE static void child_work(unsigned long ms)
{
	burn(part(ms, CHILD_PERCENT));
}

NOINLINE static void reexec_work(unsigned long ms)
{
	burn(part(ms, REEXEC_PERCENT));
}

static void *thread_main(void *arg)
{
	thread_work(*(unsigned long *)arg);
	return NULL;
}

static int run(unsigned long ms, const char *name, char *text)
{
	pid_t child, reexec;
	pthread_t thread;
	int status;

	child = fork();
	if (child == 0) {
		child_work(ms);
		exit(0);
	}
	reexec = fork();
	if (reexec == 0) {
		execl("/proc/self/exe", name, "reexec", text, (char *)NULL);
		_exit(127);
	}
	if (child < 0 || reexec < 0 || pthread_create(&thread, NULL, thread_main, &ms))
		return 2;
	main_work(ms);
	pthread_join(thread, NULL);
	while (wait(&status) > 0)
		if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
			return 2;
	return 0;
}

int main(int argc, char **argv)
{
	static char otherwise[] = "1000";
	bool reexec = argc == 3 && strcmp(argv[1], "reexec") == 0;
	char *text = reexec ? argv[2] : argc > 1 ? argv[1] : otherwise;
	unsigned long ms = strtoul(text, NULL, 10);

	if (!ms) {
		fprintf(stderr, "usage: %s [CPU_MS]\n", argv[0]);
		return 1;
	}
	if (reexec) {
		reexec_work(ms);
		return 0;
	}
	printf("main_work %lu thread_work %lu child_work %lu reexec_work %lu\n",
	       ms * MAIN_PERCENT / 100, ms * THREAD_PERCENT / 100, ms * CHILD_PERCENT / 100,
	       ms * REEXEC_PERCENT / 100);
	fflush(stdout);
	return run(ms, argv[0], text);
}
