// SPDX-License-Identifier: MIT
/* many_threads N MS: N threads at once, which share MS of CPU time in work(). */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include "burn.h"

#define THREADS_MAX 4096

__attribute__((noinline)) static void work(uint64_t ns)
{
	burn(ns);
}

static void *thread_main(void *arg)
{
	work(*(const uint64_t *)arg);
	return NULL;
}

int main(int argc, char **argv)
{
	static pthread_t threads[THREADS_MAX];
	unsigned long count = argc == 3 ? strtoul(argv[1], NULL, 10) : 0;
	uint64_t each;

	if (count == 0 || count > THREADS_MAX) {
		fprintf(stderr, "usage: many_threads N MS\n");
		return 2;
	}
	each = strtoull(argv[2], NULL, 10) * 1000000u / count;
	for (unsigned long i = 0; i < count; i++)
		if (pthread_create(&threads[i], NULL, thread_main, &each) != 0)
			return 1;
	for (unsigned long i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
