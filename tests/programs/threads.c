/* SPDX-License-Identifier: MIT */
/* threads SECONDS: as chain.c, on 200 threads. */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#define THREADS 200

static volatile int is_over;

__attribute__((noinline)) static void inner(volatile unsigned long *sum)
{
	for (unsigned long i = 0; i < 100000; i++)
		*sum += i;
}

__attribute__((noinline)) static void middle(clock_t end)
{
	volatile unsigned long sum = 0;

	while (!is_over) {
		inner(&sum);
		if (clock() >= end)
			is_over = 1;
	}
}

__attribute__((noinline)) static void *outer(void *seconds)
{
	middle((clock_t)(*(double *)seconds * CLOCKS_PER_SEC));
	return seconds;
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 1;
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, outer, &seconds);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
