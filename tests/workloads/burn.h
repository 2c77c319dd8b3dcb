/* SPDX-License-Identifier: MIT */
/*
 * burn(ns): use that much CPU time of the calling thread, in the calling function's own frame.
 * The clock is read every few microseconds, so nearly all samples hit the caller itself.
 */
#ifndef TESTS_WORKLOADS_BURN_H
#define TESTS_WORKLOADS_BURN_H

#include <stdint.h>
#include <time.h>

static inline uint64_t burn_clock(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

__attribute__((always_inline)) static inline void burn(uint64_t ns)
{
	uint64_t until = burn_clock() + ns;
	uint32_t x = 1;

	while (burn_clock() < until)
		for (int i = 0; i < 20000; i++) {
			x = x * 1664525u + 1013904223u;
			__asm__ volatile("" : "+r"(x));
		}
}

#endif
