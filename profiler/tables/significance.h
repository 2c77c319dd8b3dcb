/* SPDX-License-Identifier: MIT */
/*
 * Tests whether two amounts differ by more than chance. Pure functions, without allocation unless
 * noted.
 *
 * Probabilities (p-values) are two-sided: how often chance alone makes a difference at least as
 * large. Tests of counts are exact and central: twice the smaller tail, 1 at most (Fay 2010,
 * Biostatistics 11(2), 373-374, "central").
 */
#ifndef PROFILER_TABLES_SIGNIFICANCE_H
#define PROFILER_TABLES_SIGNIFICANCE_H

#include <stdint.h>

/* A difference counts up to this probability. 19 of 20 differences by chance do not. */
#define SIGNIFICANCE_LEVEL 0.05

/*
 * Returns the significance of two Poisson counts whose means are proportional to exposures. Given
 * their sum, the first count is binomial with probability exposure_a / (exposure_a + exposure_b):
 * Przyborowski and Wilenski 1940, Biometrika 31, 313-323. Exposures are positive, in any unit.
 */
double significance_of_counts(uint64_t a, uint64_t b, double exposure_a, double exposure_b);

/*
 * Returns the significance of the shares `a` of `all_a` and `b` of `all_b`, by Fisher's exact test:
 * hypergeometric, given all sums (Fisher 1934, Statistical Methods for Research Workers, section
 * 21.02). A part larger than its whole counts as the whole.
 */
double significance_of_shares(uint64_t a, uint64_t all_a, uint64_t b, uint64_t all_b);

/* Returns the significance of a normal deviate. */
double significance_of_normal(double deviate);

/*
 * Returns the significance of Student's t with so many degrees of freedom, 1 or more. Source: DLMF
 * 8.17; 26.7.27 of Abramowitz and Stegun.
 */
double significance_of_student(double t, double freedom);

/* Returns the t that is exceeded with this one-sided probability, in (0, 0.5). */
double student_quantile(double probability, double freedom);

/*
 * Replaces each probability by the smallest false discovery rate at which it is a discovery:
 * Benjamini and Hochberg 1995, J. R. Statist. Soc. B 57, 289-300. This holds for independent tests,
 * and for positively dependent tests (Benjamini and Yekutieli 2001). A function and its callers
 * depend positively. Returns 0, or -ENOMEM with nothing changed.
 */
int significance_control(double *probabilities, uint32_t count);

#endif
