/* SPDX-License-Identifier: MIT */
/*
 * Writes what GPU work is part of as tables in Markdown: by class of kernel, by operator, by kind
 * of layer (work_parts.h). A table without rows is left out.
 */
#ifndef PROFILER_FORMATS_MARKDOWN_PARTS_H
#define PROFILER_FORMATS_MARKDOWN_PARTS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include "profiler/model/result.h"
#include "profiler/tables/report_table.h"

#define MARKDOWN_PARTS 3

struct markdown_parts {
	struct report_table *tables[MARKDOWN_PARTS]; /* owned */
};

/* Makes the tables. Returns false if out of memory; free them in both cases. */
bool markdown_parts_make(struct markdown_parts *parts, const struct result *result);
void markdown_parts_release(struct markdown_parts *parts);

/* Writes the first rows of each table, names with at most `columns` columns, and counts others. */
void markdown_parts_write(FILE *out, const struct markdown_parts *parts, uint32_t rows,
			  unsigned int columns);

#endif
