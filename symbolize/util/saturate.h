/* SPDX-License-Identifier: MIT */
/*
 * Adds and multiplies numbers that come from the target. A result that does not fit becomes
 * UINT64_MAX or DBL_MAX instead of wrapping, so no claim makes a loss disappear.
 */
#ifndef SYMBOLIZE_UTIL_SATURATE_H
#define SYMBOLIZE_UTIL_SATURATE_H

#include <float.h>
#include <math.h>
#include <stdint.h>

static inline uint64_t saturated_sum(uint64_t a, uint64_t b)
{
	return a <= UINT64_MAX - b ? a + b : UINT64_MAX;
}

static inline uint64_t saturated_product(uint64_t a, uint64_t b)
{
	uint64_t product;

	return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

/* Returns `a` times a factor of at least 0, rounded. */
static inline uint64_t saturated_scale(uint64_t a, double factor)
{
	double product = nearbyint((double)a * factor);

	if (factor == 1)
		return a; /* a double has 53 bits */
	return product >= 0x1p64 ? UINT64_MAX : (uint64_t)product;
}

/* Returns the volume of a grid or block. */
static inline uint64_t saturated_volume(const uint32_t extent[3])
{
	return saturated_product((uint64_t)extent[0] * extent[1], extent[2]);
}

static inline void saturated_add(uint64_t *sum, uint64_t count)
{
	*sum = saturated_sum(*sum, count);
}

/* Returns a finite sum of finite numbers. */
static inline double saturated_real(double a, double b)
{
	return fmax(-DBL_MAX, fmin(DBL_MAX, a + b));
}

#endif
