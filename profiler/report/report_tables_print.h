/* SPDX-License-Identifier: MIT */
/*
 * The tables beside the profile (report_table.h) as text: ten rows each, with their notes below
 * them.
 */
#ifndef PROFILER_REPORT_REPORT_TABLES_PRINT_H
#define PROFILER_REPORT_REPORT_TABLES_PRINT_H

#include <stdbool.h>
#include "profiler/base/log.h"
#include "profiler/model/result.h"

/*
 * `width`: columns of the terminal; what is last in a row is cut to it. Where it is none, names of
 * functions, metrics and memory are whole, for scripts and logs; names of kernels, which may be of
 * any length, are cut all the same.
 */
void report_tables_print(struct log *log, const struct result *result, unsigned int width,
			 bool is_terminal);

#endif
