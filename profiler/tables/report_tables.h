/* SPDX-License-Identifier: MIT */
/*
 * The tables (report_table.h) of a result: each module that makes one is registered in
 * report_tables.c. Tables that add-ons fill follow (measured_table.h).
 */
#ifndef PROFILER_TABLES_REPORT_TABLES_H
#define PROFILER_TABLES_REPORT_TABLES_H

#include <stdint.h>
#include "profiler/model/result.h"
#include "profiler/tables/report_table.h"

/* Those that the run, or who views it, asked for (totals.measure). */
#define REPORT_TABLES_FIXED_MAX 12
#define REPORT_TABLES_MAX (REPORT_TABLES_FIXED_MAX + RESULT_TABLES_MAX)
struct report_tables {
	struct report_table *tables[REPORT_TABLES_MAX];
	uint32_t count;
};

/*
 * Makes the tables. 0 or -errno: then the list has those that could be made. Where the result is a
 * part of the run, titles of tables that are of the whole run say so.
 */
int report_tables_of(const struct result *result, struct report_tables *list);
void report_tables_release(struct report_tables *list);

#endif
