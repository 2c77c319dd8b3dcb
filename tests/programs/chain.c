/* SPDX-License-Identifier: MIT */
/* chain SECONDS: computes that long, called by outer, middle, inner, whatever the language. */
#include <stdlib.h>
#include <time.h>

volatile unsigned long sink;

__attribute__((noinline)) static void inner(void)
{
	for (unsigned long i = 0; i < 1000000; i++)
		sink += i;
}

__attribute__((noinline)) static void middle(clock_t end)
{
	while (clock() < end) {
		inner();
		sink++;
	}
}

__attribute__((noinline)) static unsigned long outer(double seconds)
{
	middle(clock() + (clock_t)(seconds * CLOCKS_PER_SEC));
	return sink;
}

int main(int argc, char **argv)
{
	return outer(argc > 1 ? atof(argv[1]) : 1) == 1;
}
