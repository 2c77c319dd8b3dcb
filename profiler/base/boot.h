/* SPDX-License-Identifier: MIT */
/*
 * Identifies the boot of the kernel, and bounds the error of its wall clock.
 *
 * Two runs share one CLOCK_MONOTONIC if their boot ids are equal.
 */
#ifndef PROFILER_BASE_BOOT_H
#define PROFILER_BASE_BOOT_H

#include <stdint.h>

#define BOOT_ID_DIGITS 32

/* Random id of one boot of a kernel, shared by all its containers. Both parts 0: unknown. */
struct boot_id {
	uint64_t part[2];
};

struct boot_id boot_id(void);

/* Parses an id as the kernel prints it. Dashes are skipped. */
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
 * Returns the maximum error of CLOCK_REALTIME in ns (adjtimex(2), maxerror). Returns 0 if no time
 * daemon synchronizes the clock.
 */
uint64_t wall_clock_error_ns(void);

#endif
