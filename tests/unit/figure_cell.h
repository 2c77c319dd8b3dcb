/* SPDX-License-Identifier: MIT */
/* Cells of a table by the key of their column, as the summary names it. */
#ifndef TESTS_UNIT_FIGURE_CELL_H
#define TESTS_UNIT_FIGURE_CELL_H

#include "unit.h"
#include "profiler/tables/figures.h"

static inline const union figure *figure_cell(const struct figures *f, uint32_t row,
					      const char *key)
{
	for (uint32_t i = 0; i < f->column_count; i++)
		if (strcmp(f->columns[i].key, key) == 0)
			return &figures_row(f, row)[i];
	fail_msg("no column %s", key);
	return NULL;
}

#endif
