// SPDX-License-Identifier: MIT
/* Lists the tables of results: each is described by the module that fills it. */
#include "profiler/model/result_table.h"

/* In the order of captures: a table comes behind those whose rows it refers to. */
#define TABLES(T)              \
	T(memory_totals_table) \
	T(memory_rows_table)   \
	T(memory_pools_table)  \
	T(stall_places_table)

#define DECLARE(table) extern const struct table_kind table;
TABLES(DECLARE)

#define LIST(table) &(table),
const struct table_kind *const table_kinds[] = {TABLES(LIST)};
const uint32_t table_kind_count = sizeof(table_kinds) / sizeof(table_kinds[0]);
_Static_assert(sizeof(table_kinds) / sizeof(table_kinds[0]) <= RESULT_TABLES_MAX, "each has room");
