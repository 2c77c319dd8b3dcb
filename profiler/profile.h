/* SPDX-License-Identifier: MIT */
/*
 * What was measured, before names: for each stack (and kernel), how much.
 *
 * CPU: the number of samples; each weighs one sampling period. GPU: the sum of durations of one
 * kernel under one launch stack, whole ns, so sums are exact. Weights become ns as double only when
 * both meet in the call tree.
 */
#ifndef PROFILER_PROFILE_H
#define PROFILER_PROFILE_H

#include <stdint.h>

struct profile;

/* One row; `kernel` is NULL for CPU samples, else interned by the caller. */
struct profile_entry {
	uint32_t stack; /* id in the stack table, or STACK_NONE: launch not captured */
	const char *kernel;
	uint64_t count; /* samples, or operations */
	uint64_t gpu_ns;
};

struct profile *profile_new(void);
void profile_free(struct profile *profile);

/* 0 or -ENOMEM. */
int profile_add_sample(struct profile *profile, uint32_t stack);
int profile_add_kernel(struct profile *profile, uint32_t stack, const char *kernel,
		       uint64_t duration_ns);

/* All rows, in order of first appearance. */
const struct profile_entry *profile_entries(const struct profile *profile, uint32_t *count);

#endif
