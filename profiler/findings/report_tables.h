/* SPDX-License-Identifier: MIT */
/*
 * Makes all tables (report_table.h) of a result.
 *
 * Each module that makes a table is registered in report_tables.c. Tables of add-ons follow
 * (measured_table.h).
 */
#ifndef PROFILER_FINDINGS_REPORT_TABLES_H
#define PROFILER_FINDINGS_REPORT_TABLES_H

#include <stdint.h>
#include "profiler/model/result.h"
#include "profiler/tables/report_table.h"

/* The tables that the run, or its viewer, asked for (totals.measure). */
#define REPORT_TABLES_FIXED_MAX 22
#define REPORT_TABLES_MAX (REPORT_TABLES_FIXED_MAX + RESULT_TABLES_MAX)
struct report_tables {
	struct report_table *tables[REPORT_TABLES_MAX];
	uint32_t count;
};

/*
 * Makes the tables. If the result is a part of the run, titles tell which tables are of the whole
 * run. Returns 0, or -errno; then the list lacks the tables that failed.
 */
int report_tables_of(const struct result *result, struct report_tables *list);
void report_tables_release(struct report_tables *list);

#endif
