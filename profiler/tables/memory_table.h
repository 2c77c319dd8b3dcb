/* SPDX-License-Identifier: MIT */
/*
 * Memory (memory_use.h) as tables.
 */
#ifndef PROFILER_TABLES_MEMORY_TABLE_H
#define PROFILER_TABLES_MEMORY_TABLE_H

#include "profiler/model/memory_use.h"

struct figures;
struct result;

/* As tables: by device, by stack, and pools. NULL with errno. */
struct figures *memory_totals_figures(const struct result *result);
struct figures *memory_rows_figures(const struct result *result);
struct figures *memory_pools_figures(const struct result *result);

#endif
