/* SPDX-License-Identifier: MIT */
/*
 * deep [DEPTH=36] [MILLIONS=1500]: so many steps of work at the bottom of a recursion; built
 * without frame pointers. What CPU samples of it cost is how much more CPU it takes with them.
 */
#include <stdint.h>
#include <stdlib.h>

static __attribute__((noinline)) uint32_t descend(int depth, uint64_t steps)
{
	volatile char local[100];
	uint32_t x = 1;

	local[0] = 1;
	if (depth > 0)
		x = descend(depth - 1, steps);
	else
		for (uint64_t i = 0; i < steps; i++) {
			x = x * 1664525u + 1013904223u;
			__asm__ volatile("" : "+r"(x));
		}
	local[1] = local[0];
	return x;
}

int main(int argc, char **argv)
{
	uint64_t millions = argc > 2 ? strtoull(argv[2], NULL, 10) : 1500;

	return descend(argc > 1 ? (int)strtol(argv[1], NULL, 10) : 36, millions * 1000000) == 0;
}
