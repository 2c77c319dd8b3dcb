// SPDX-License-Identifier: MIT
#include "profiler/model/memory_use.h"

#include "cupti_trace/wire/gpu_work.h"

uint32_t memory_kind_of(uint32_t memory)
{
	if (gpu_memory_is_unified(memory))
		return MEMORY_MANAGED;
	return gpu_memory_is_device(memory) ? MEMORY_OF_DEVICE : MEMORY_OF_HOST;
}

const char *memory_kind_word(uint32_t kind)
{
	static const char *const words[MEMORY_KINDS] = {"device", "managed", "pinned host"};

	return kind < MEMORY_KINDS ? words[kind] : "unknown";
}

/* ---- as tables ---- */

static bool is_measured(const struct measure *measure)
{
	return measure->memory;
}

static const struct table_column total_columns[] = {
	TABLE_COLUMN(memory_total, process, .cell = CELL_PROCESS),
	TABLE_COLUMN(memory_total, device),
	TABLE_COLUMN(memory_total, kind, .below = MEMORY_KINDS),
	TABLE_COLUMN(memory_total, peak_bytes),
	TABLE_COLUMN(memory_total, peak_ns, .cell = CELL_MOMENT),
	TABLE_COLUMN(memory_total, left_bytes),
	TABLE_COLUMN(memory_total, left),
	TABLE_COLUMN(memory_total, allocated_bytes),
	TABLE_COLUMN(memory_total, allocations),
	TABLE_COLUMN(memory_total, frees),
	TABLE_COLUMN(memory_total, ended),
	TABLE_COLUMN(memory_total, unknown),
};
static const struct table_column row_columns[] = {
	TABLE_COLUMN(memory_row, stack, .cell = CELL_STACK, .is_delta = true),
	TABLE_COLUMN(memory_row, total, .cell = CELL_ROW, .rows_of = &memory_totals_table),
	TABLE_COLUMN(memory_row, peak_bytes, .is_bounded = true),
	TABLE_COLUMN(memory_row, at_peak),
	TABLE_COLUMN(memory_row, left_bytes, .is_bounded = true),
	TABLE_COLUMN(memory_row, left),
	TABLE_COLUMN(memory_row, allocated_bytes),
	TABLE_COLUMN(memory_row, allocations, .is_bounded = true),
};
static const struct table_column pool_columns[] = {
	TABLE_COLUMN(memory_pool, process, .cell = CELL_PROCESS),
	TABLE_COLUMN(memory_pool, device),
	TABLE_COLUMN(memory_pool, kind, .below = MEMORY_KINDS),
	TABLE_COLUMN(memory_pool, address),
	TABLE_COLUMN(memory_pool, most_held),
	TABLE_COLUMN(memory_pool, most_held_ns, .cell = CELL_MOMENT),
	TABLE_COLUMN(memory_pool, most_used),
	TABLE_COLUMN(memory_pool, peak_held),
	TABLE_COLUMN(memory_pool, peak_used),
	TABLE_COLUMN(memory_pool, left_held),
	TABLE_COLUMN(memory_pool, left_used),
	TABLE_COLUMN(memory_pool, keeps),
};

const struct table_kind memory_totals_table = {TABLE_KIND(memory_total, total_columns), .field = 19,
					       .is_measured = is_measured};
const struct table_kind memory_rows_table = {TABLE_KIND(memory_row, row_columns), .field = 20,
					     .is_measured = is_measured};
const struct table_kind memory_pools_table = {TABLE_KIND(memory_pool, pool_columns), .field = 21,
					      .is_measured = is_measured};

void memory_use_show(const struct memory_use *use, struct result_tables *t)
{
	result_tables_borrow(t, &memory_totals_table, use->totals, use->total_count);
	result_tables_borrow(t, &memory_rows_table, use->rows, use->row_count);
	result_tables_borrow(t, &memory_pools_table, use->pools, use->pool_count);
}

bool memory_use_of(const struct result_tables *t, struct memory_use *use)
{
	const struct result_table *totals = result_tables_find(t, &memory_totals_table),
				  *rows = result_tables_find(t, &memory_rows_table),
				  *pools = result_tables_find(t, &memory_pools_table);

	*use = (struct memory_use){.totals = NULL};
	if (!totals || !rows || !pools)
		return false;
	use->totals = totals->rows;
	use->total_count = totals->count;
	use->rows = rows->rows;
	use->row_count = rows->count;
	use->pools = pools->rows;
	use->pool_count = pools->count;
	return true;
}
