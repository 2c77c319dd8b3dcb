/* SPDX-License-Identifier: MIT */
/*
 * The report of a comparison: totals, then what changed most of kernels, other GPU work, launch
 * sites, functions, waits and CUDA calls. Each difference stands beside the bound of its noise, and
 * what is within it is said to be noise.
 */
#ifndef PROFILER_REPORT_CHANGES_H
#define PROFILER_REPORT_CHANGES_H

#include "profiler/base/log.h"
#include "profiler/tables/comparison.h"

/* `lines`: of each table, at most. `width`: columns of the terminal; names are cut to it. */
void changes_report(struct log *log, const struct comparison *comparison, uint32_t lines,
		    unsigned int width);

/* An amount of a change: "12.500 ms", "1.5 GiB", or a weight where those are compared. */
#define CHANGES_TEXT_BYTES 32
const char *changes_amount(char text[CHANGES_TEXT_BYTES], const struct comparison *comparison,
			   const struct change *change, double amount);

/* "GPU time" */
const char *changes_total_name(enum comparison_total total);

#endif
