/* SPDX-License-Identifier: MIT */
/*
 * Holds what GPU work was estimated to take (--budget), with errors: of each kernel and kind of
 * work, and of each stack.
 *
 * An amount lies between `ns` - `error_ns` and `ns` + `error_ns` with a probability of 95 %. With
 * fewer than 10 windows it has no error (0), but an upper bound. docs/budget.md has the method.
 */
#ifndef PROFILER_MODEL_ESTIMATES_H
#define PROFILER_MODEL_ESTIMATES_H

#include <stdint.h>
#include "profiler/model/result_table.h"

#define ESTIMATES_MOST_FACTOR 3u /* limit of the factor by which sums are multiplied at the end */
#define ESTIMATES_ALL "[all GPU work]" /* the name of the sum */

struct kernel_estimate {
	const char *kernel; /* or the kind of other work, or ESTIMATES_ALL */
	uint64_t ns, error_ns, most_ns;
	double share, share_error; /* percent of all GPU time */
	uint64_t windows;          /* number of windows that had some of it */
};

struct stack_estimate {
	uint32_t stack;
	uint64_t ns, error_ns, most_ns, windows;
};

extern const struct table_kind kernel_estimates_table, stack_estimates_table;

/* Returns the sum of all GPU work, or NULL: nothing was estimated. */
const struct kernel_estimate *estimates_all(const struct result_tables *tables);

#endif
