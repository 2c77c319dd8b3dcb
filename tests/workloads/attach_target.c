/* SPDX-License-Identifier: MIT */
/*
 * attached [children=0] [threads=0]: burns CPU time in functions of known names until SIGTERM, then
 * prints "ended" and exits with 7. First starts so many children (burn_before) and threads
 * (burn_thread), and prints "ready".
 *
 * SIGUSR1: starts another child (burn_during). SIGUSR2: executes itself, without children; that
 * burns in burn_next. Children end with their parent.
 */
#include "burn.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))
#define SLICE_NS 2000000

static volatile sig_atomic_t has_to_end, has_to_fork, has_to_execute;

NOINLINE static void burn_main(void)
{
	burn(SLICE_NS);
}

NOINLINE static void burn_next(void)
{
	burn(SLICE_NS);
}

NOINLINE static void burn_before(void)
{
	burn(SLICE_NS);
}

NOINLINE static void burn_during(void)
{
	burn(SLICE_NS);
}

NOINLINE static void burn_thread(void)
{
	burn(SLICE_NS);
}

static void take_signal(int number)
{
	has_to_end |= number == SIGTERM;
	has_to_fork |= number == SIGUSR1;
	has_to_execute |= number == SIGUSR2;
}

static void *run_thread(void *unused)
{
	(void)unused;
	while (!has_to_end)
		burn_thread();
	return NULL;
}

static void start_child(void (*function)(void))
{
	pid_t parent = getpid();

	if (fork() != 0)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (getppid() == parent)
		function();
	_exit(0);
}

int main(int argc, char **argv)
{
	bool is_next = argc > 1 && strcmp(argv[1], "next") == 0;
	int children = argc > 1 ? atoi(argv[1]) : 0, threads = argc > 2 ? atoi(argv[2]) : 0;
	struct sigaction action = {.sa_handler = take_signal, .sa_flags = SA_RESTART};

	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGUSR1, &action, NULL);
	sigaction(SIGUSR2, &action, NULL);
	for (int i = 0; i < children; i++)
		start_child(burn_before);
	for (int i = 0; i < threads; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, run_thread, NULL) != 0)
			return 1;
	}
	puts("ready");
	fflush(stdout);
	while (!has_to_end) {
		if (has_to_fork) {
			has_to_fork = 0;
			start_child(burn_during);
		}
		if (has_to_execute)
			execl("/proc/self/exe", "attached", "next", NULL);
		if (is_next)
			burn_next();
		else
			burn_main();
	}
	puts("ended");
	return 7;
}
