/* SPDX-License-Identifier: MIT */
/*
 * Writes what the page of a comparison (profiler/tables/comparison.h) has besides the data of other
 * pages. html/data.js reads it.
 *
 *	sides     of before, then of after: number of runs, command, options that are shown
 *	flags     1: runs are steps; 2: shares are compared; 4: widths are those before
 *	length    name of the total that shows that the sides differ in length, or 0
 *	amounts   by run, a column of ns of the page's rows; by side, columns of their counts, and
 *	          of their standard deviations by counting samples, and by durations
 *	variants  of kernels matched by less than their names: name, what matches, the full name of
 *	          one, its sides as bits
 *	tables    number of tables; of each its key (html/figures.js), and rows: name, unit (enum
 *change_unit), before, after, bound plus 1 (0: unknown), verdict (enum change_verdict). The totals
 *come first; then what no stack's time shows.
 *
 * Variants and tables are row after row. Names and keys are texts of the page. A report of one
 * run has the number 0 in place of all.
 */
#ifndef PROFILER_WEB_HTML_DIFFERENCE_H
#define PROFILER_WEB_HTML_DIFFERENCE_H

#include "profiler/formats/deflated.h"
#include "profiler/shape/text_table.h"
#include "profiler/tables/comparison.h"

/*
 * Writes the data; with `data` NULL only adds the texts. `order` is that of the page's rows. `c` is
 * NULL in a report of one run.
 */
void html_difference_put(const struct comparison *c, struct text_table *texts,
			 const uint32_t *order, struct deflated *data);

#endif
