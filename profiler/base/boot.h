/* SPDX-License-Identifier: MIT */
/*
 * What tells whether CLOCK_MONOTONIC of two runs is one clock, and how well wall clocks agree.
 */
#ifndef PROFILER_BASE_BOOT_H
#define PROFILER_BASE_BOOT_H

#include <stdint.h>

#define BOOT_ID_DIGITS 32

/* Of a kernel since it was started, the same in all its containers; both 0: unknown. */
struct boot_id {
	uint64_t part[2];
};

struct boot_id boot_id(void);

/* Parses a text with the digits, as the kernel prints it. */
struct boot_id boot_id_parse(const char *text);

static inline int boot_is_same(const struct boot_id *a, const struct boot_id *b)
{
	return a->part[0] == b->part[0] && a->part[1] == b->part[1];
}

static inline int boot_is_known(const struct boot_id *id)
{
	return id->part[0] || id->part[1];
}

/*
 * How far CLOCK_REALTIME may be off, as the kernel estimates from what a time daemon says
 * (adjtimex(2), maxerror); 0: nobody synchronizes it.
 */
uint64_t wall_clock_error_ns(void);

#endif
