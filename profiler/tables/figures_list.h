/* SPDX-License-Identifier: MIT */
/*
 * The tables (figures.h) of a result: each module that makes one is registered in figures_list.c.
 * Tables that add-ons fill follow (table_figures.h).
 */
#ifndef PROFILER_TABLES_FIGURES_LIST_H
#define PROFILER_TABLES_FIGURES_LIST_H

#include <stdint.h>
#include "profiler/model/result.h"
#include "profiler/tables/figures.h"

/* Those that the run, or who views it, asked for (totals.measure). */
#define FIGURES_FIXED_MAX 12
#define FIGURES_MAX (FIGURES_FIXED_MAX + RESULT_TABLES_MAX)
struct figures_list {
	struct figures *tables[FIGURES_MAX];
	uint32_t count;
};

/*
 * Makes the tables. 0 or -errno: then the list has those that could be made. Where the result is a
 * part of the run, titles of tables that are of the whole run say so.
 */
int figures_of(const struct result *result, struct figures_list *list);
void figures_release(struct figures_list *list);

#endif
