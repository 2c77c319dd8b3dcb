/* SPDX-License-Identifier: MIT */
/*
 * Rounds weights to whole units so that their sum is exact, for formats that count.
 */
#ifndef PROFILER_SHAPE_ROUNDING_H
#define PROFILER_SHAPE_ROUNDING_H

#include <stdint.h>

/*
 * Rounds `count` weights (ns) to units of `unit_ns`, so that they add up to the rounded sum,
 * `total`. Each weight is rounded down. The missing units go, one each, to the largest remainders;
 * among equal remainders to the earlier weight. Returns 0, or -ENOMEM.
 */
int round_to_units(const double *weights, uint32_t count, double unit_ns, uint64_t *out,
		   uint64_t *total);

#endif
