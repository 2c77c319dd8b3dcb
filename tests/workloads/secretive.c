/* SPDX-License-Identifier: MIT */
/*
 * secretive [CPU_MS=300] [closed]: no CUDA. Works in secret_work, and waits in secret_wait, in a
 * thread, too, and ends with much memory, which the kernel takes a while to take back. "closed":
 * first makes itself undumpable, so that its user may not look into it. Prints where secret_work
 * is.
 */
#include "burn.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))

NOINLINE static void secret_work(unsigned long ms)
{
	burn(ms * 1000000);
}

NOINLINE static void secret_wait(void)
{
	usleep(50000);
}

static void *secret_thread(void *arg)
{
	secret_work(*(unsigned long *)arg / 3);
	secret_wait();
	return NULL;
}

int main(int argc, char **argv)
{
	static char memory[128 << 20];
	unsigned long ms = argc > 1 ? strtoul(argv[1], NULL, 10) : 300;
	pthread_t thread;

	if (argc > 2 && strcmp(argv[2], "closed") == 0)
		prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	printf("%p\n", (void *)secret_work);
	fflush(stdout);
	memset(memory, 1, sizeof(memory));
	__asm__ volatile("" : : "r"(memory) : "memory");
	secret_work(ms / 3);
	secret_wait();
	if (pthread_create(&thread, NULL, secret_thread, &ms) != 0)
		return 1;
	pthread_join(thread, NULL);
	secret_work(ms / 3);
	return 0;
}
