/* SPDX-License-Identifier: MIT */
/*
 * Weights in whole units, for formats that count: rounded so that the sum is exact.
 */
#ifndef PROFILER_SHAPE_ROUNDING_H
#define PROFILER_SHAPE_ROUNDING_H

#include <stdint.h>

/*
 * Rounds `count` weights (ns) to units of `unit_ns`, such that their sum is the rounded sum: each
 * is rounded down, and what the sum then lacks goes, one each, to those that lost the most (largest
 * remainder; among equals the earlier one). `total` is the sum. 0 or -ENOMEM.
 */
int round_to_units(const double *weights, uint32_t count, double unit_ns, uint64_t *out,
		   uint64_t *total);

#endif
