/* SPDX-License-Identifier: MIT */
/* Reads CLOCK_MONOTONIC: the clock of all times in a profile, and of all deadlines. */
#ifndef SYMBOLIZE_UTIL_MONOTONIC_H
#define SYMBOLIZE_UTIL_MONOTONIC_H

#include <stdint.h>
#include <time.h>

static inline uint64_t monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Returns ms, signed: differences from a deadline may be negative. */
static inline int64_t monotonic_ms(void)
{
	return (int64_t)(monotonic_ns() / 1000000);
}

#endif
