/* SPDX-License-Identifier: MIT */
/*
 * Reports a comparison: totals, then the largest changes of each table. Each difference is shown
 * with the bound of its noise. A difference within the bound is called noise.
 */
#ifndef PROFILER_REPORT_CHANGES_H
#define PROFILER_REPORT_CHANGES_H

#include "profiler/base/log.h"
#include "profiler/tables/comparison.h"

/* Prints the report. `lines` is the maximum per table. Names are cut to `width` columns. */
void changes_report(struct log *log, const struct comparison *comparison, uint32_t lines,
		    unsigned int width);

/* Returns the text of an amount: "12.500 ms", "1.5 GiB", or a plain weight. */
#define CHANGES_TEXT_BYTES 32
const char *changes_amount(char text[CHANGES_TEXT_BYTES], const struct comparison *comparison,
			   const struct change *change, double amount);

/* Returns the name of a total: "GPU time". */
const char *changes_total_name(enum comparison_total total);

#endif
