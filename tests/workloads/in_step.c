// SPDX-License-Identifier: MIT
/*
 * in_step A_US B_US MS: works A_US microseconds in work_a and B_US in work_b in turn, for MS of
 * CPU time: a program with a cycle of its own, which sampling must not be in step with. Prints the
 * share of work_a in percent, by the thread's own clock.
 */
#include <stdio.h>
#include <stdlib.h>
#include "burn.h"

__attribute__((noinline)) static void work_a(uint64_t ns)
{
	burn(ns);
}

__attribute__((noinline)) static void work_b(uint64_t ns)
{
	burn(ns);
}

int main(int argc, char **argv)
{
	uint64_t a = 0, b = 0, now, last, all;

	if (argc != 4) {
		fprintf(stderr, "usage: in_step A_US B_US MS\n");
		return 2;
	}
	all = strtoull(argv[3], NULL, 10) * 1000000u;
	last = burn_clock();
	while (a + b < all) {
		work_a(strtoull(argv[1], NULL, 10) * 1000u);
		now = burn_clock();
		a += now - last;
		work_b(strtoull(argv[2], NULL, 10) * 1000u);
		last = burn_clock();
		b += last - now;
	}
	printf("work_a %.2f\n", 100.0 * (double)a / (double)(a + b));
	return 0;
}
