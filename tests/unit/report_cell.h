/* SPDX-License-Identifier: MIT */
/* Cells of a table by the key of their column, as the summary names it. */
#ifndef TESTS_UNIT_REPORT_CELL_H
#define TESTS_UNIT_REPORT_CELL_H

#include "unit.h"
#include "profiler/tables/report_table.h"

static inline const union report_cell *report_cell(const struct report_table *f, uint32_t row,
						   const char *key)
{
	for (uint32_t i = 0; i < f->column_count; i++)
		if (strcmp(f->columns[i].key, key) == 0)
			return &report_table_row(f, row)[i];
	fail_msg("no column %s", key);
	return NULL;
}

#endif
