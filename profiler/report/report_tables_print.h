/* SPDX-License-Identifier: MIT */
/*
 * Prints the tables beside the profile (report_table.h): ten rows each, followed by their notes.
 */
#ifndef PROFILER_REPORT_REPORT_TABLES_PRINT_H
#define PROFILER_REPORT_REPORT_TABLES_PRINT_H

#include <stdbool.h>
#include "profiler/base/log.h"
#include "profiler/model/result.h"

/*
 * Prints all tables; without `is_full` those that an option of the run asked for. The last cell of
 * a row is cut to `width` columns. Without a terminal, names of functions, metrics and memory stay
 * whole for scripts and logs. Names of kernels may have any length, and are always cut.
 */
void report_tables_print(struct log *log, const struct result *result, unsigned int width,
			 bool is_terminal, bool is_full);

#endif
