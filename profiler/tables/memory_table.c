// SPDX-License-Identifier: MIT
#include "profiler/tables/memory_table.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "profiler/model/memory_use.h"
#include "profiler/model/result.h"
#include "profiler/tables/caching_allocator.h"
#include "profiler/tables/report_table.h"
#include "profiler/tables/memory_place.h"
#include "profiler/tables/launch_shapes.h"
#include "symbolize/util/sorted.h"

/* ---- by device ---- */

struct total_row {
	struct memory_total total;
	uint64_t peak_at_ns;
	const char *memory, *process;
};

static const struct report_column total_columns[] = {
	REPORT_COLUMN(total_row, total.peak_bytes, "peak_bytes", "Peak", BYTES, 11),
	REPORT_COLUMN(total_row, peak_at_ns, "peak_at_ns", "Time of peak", TIME, 12),
	REPORT_COLUMN(total_row, total.left_bytes, "left_bytes", "Left", BYTES, 11),
	REPORT_COLUMN(total_row, total.left, "left", "Blocks left", COUNT, 11),
	REPORT_COLUMN(total_row, total.allocated_bytes, "allocated_bytes", "Allocated", BYTES, 11),
	REPORT_COLUMN(total_row, total.allocations, "allocations", "Allocations", COUNT, 11),
	REPORT_COLUMN(total_row, total.frees, "frees", "Frees", COUNT, 9),
	REPORT_COLUMN(total_row, total.unknown, "unknown_frees", "Unknown", COUNT, 8),
	REPORT_COLUMN(total_row, memory, "memory", "Memory", TEXT, UINT8_MAX),
	REPORT_COLUMN(total_row, total.ended, "freed_with_context", "Freed with their context",
		      COUNT, 0),
	REPORT_COLUMN(total_row, process, "process", "Process", TEXT, 0),
};

static int by_peak(const void *a, const void *b)
{
	const struct memory_total *x = *(const struct memory_total *const *)a,
				  *y = *(const struct memory_total *const *)b;
	int order = compare_numbers(x->kind, y->kind);

	order = order ? order : compare_numbers(y->peak_bytes, x->peak_bytes);
	return order ? order : compare_numbers((uintptr_t)x, (uintptr_t)y);
}

/* Returns the time since the command's start; 0 if it is not known. */
static uint64_t since_start(const struct result *r, uint64_t ns)
{
	return ns > r->totals.start_ns ? ns - r->totals.start_ns : 0;
}

static void add_total(struct report_table *f, const struct result *r, const void *record)
{
	const struct memory_total *total = record;
	char where[MEMORY_PLACE_BYTES];
	const struct total_row row = {.total = *total,
				      .peak_at_ns = since_start(r, total->peak_ns),
				      .memory = memory_place_text(r, total, where),
				      .process = memory_process_name(r, total->process)};

	report_table_add(f, &row);
}

struct report_table *memory_totals_report_table(const struct result *result)
{
	struct report_table *f = REPORT_TABLE_NEW("memory", "Memory", total_columns);
	struct memory_use use;

	memory_use_of(result->tables, &use);
	return report_table_fill(f, result, use.totals, use.total_count, sizeof(*use.totals),
				 by_peak, add_total);
}

/* ---- by stack ---- */

struct allocation_row {
	struct memory_row sums;
	const char *memory, *path, *process, *allocator;
};

static const struct report_column row_columns[] = {
	REPORT_COLUMN(allocation_row, sums.peak_bytes, "peak_bytes", "At the peak", BYTES, 11),
	REPORT_COLUMN(allocation_row, sums.at_peak, "at_peak", "Blocks", COUNT, 9),
	REPORT_COLUMN(allocation_row, sums.left_bytes, "left_bytes", "Left", BYTES, 11),
	REPORT_COLUMN(allocation_row, sums.left, "left", "Blocks left", COUNT, 11),
	REPORT_COLUMN(allocation_row, sums.allocated_bytes, "allocated_bytes", "Allocated", BYTES,
		      11),
	REPORT_COLUMN(allocation_row, sums.allocations, "allocations", "Allocations", COUNT, 11),
	REPORT_COLUMN(allocation_row, memory, "memory", "Memory", TEXT, UINT8_MAX),
	REPORT_COLUMN(allocation_row, path, "allocated_by", "Allocated by", NOTE, 0),
	REPORT_COLUMN(allocation_row, process, "process", "Process", TEXT, 0),
	REPORT_COLUMN(allocation_row, allocator, "allocator", "Held by", TEXT, 0),
};

static int by_use(const void *a, const void *b)
{
	const struct memory_row *x = *(const struct memory_row *const *)a,
				*y = *(const struct memory_row *const *)b;
	int order = compare_numbers(y->peak_bytes, x->peak_bytes);

	order = order ? order : compare_numbers(y->left_bytes, x->left_bytes);
	order = order ? order : compare_numbers(y->allocated_bytes, x->allocated_bytes);
	return order ? order : compare_numbers((uintptr_t)x, (uintptr_t)y);
}

static void add_row(struct report_table *f, const struct result *r, const void *record)
{
	const struct memory_row *m = record;
	/* memory has the stacks of the whole run */
	const struct result *whole = result_whole(r);
	const struct memory_total *t =
		result_table_row(result_tables_find(r->tables, &memory_totals_table),
				 &memory_totals_table, m->total);
	const struct caching_allocator *allocator = caching_allocator_of(whole, m->stack);
	char path[1024], where[MEMORY_PLACE_BYTES];
	const struct allocation_row row = {.sums = *m,
					   .memory = memory_place_text(r, t, where),
					   .path = path,
					   .process = memory_process_name(r, t->process),
					   .allocator = allocator ? allocator->name : ""};

	launch_path(whole, m->stack, path, sizeof(path));
	report_table_add(f, &row);
}

struct report_table *memory_rows_report_table(const struct result *result)
{
	struct report_table *f = REPORT_TABLE_NEW("allocations", "Allocations", row_columns);
	struct memory_use use;

	memory_use_of(result->tables, &use);
	return report_table_fill(f, result, use.rows, use.row_count, sizeof(*use.rows), by_use,
				 add_row);
}

/* ---- pools ---- */

struct pool_row {
	struct memory_pool pool;
	uint64_t most_held_at_ns;
	const char *name, *keeps, *process;
};

static const struct report_column pool_columns[] = {
	REPORT_COLUMN(pool_row, pool.most_held, "most_held_bytes", "Most held", BYTES, 11),
	REPORT_COLUMN(pool_row, pool.most_used, "most_used_bytes", "Most used", BYTES, 11),
	REPORT_COLUMN(pool_row, pool.peak_held, "held_at_peak_bytes", "Held at the peak", BYTES,
		      16),
	REPORT_COLUMN(pool_row, pool.peak_used, "used_at_peak_bytes", "Used at the peak", BYTES,
		      16),
	REPORT_COLUMN(pool_row, pool.left_held, "held_at_end_bytes", "Held at the end", BYTES, 15),
	REPORT_COLUMN(pool_row, pool.left_used, "used_at_end_bytes", "Used at the end", BYTES, 15),
	REPORT_COLUMN(pool_row, name, "pool", "Pool", TEXT, UINT8_MAX),
	REPORT_COLUMN(pool_row, most_held_at_ns, "most_held_at_ns", "Most held at", TIME, 0),
	REPORT_COLUMN(pool_row, keeps, "keeps", "Release threshold", TEXT, 0),
	REPORT_COLUMN(pool_row, process, "process", "Process", TEXT, 0),
};

static int by_held(const void *a, const void *b)
{
	const struct memory_pool *x = *(const struct memory_pool *const *)a,
				 *y = *(const struct memory_pool *const *)b;
	int order = compare_numbers(y->most_held, x->most_held);

	return order ? order : compare_numbers((uintptr_t)x, (uintptr_t)y);
}

static void add_pool(struct report_table *f, const struct result *r, const void *record)
{
	const struct memory_pool *p = record;
	const struct memory_total place = {
		.process = p->process, .device = p->device, .kind = p->kind};
	char where[MEMORY_PLACE_BYTES], name[MEMORY_PLACE_BYTES + 32], keeps[32] = "all";
	const struct pool_row row = {.pool = *p,
				     .most_held_at_ns = since_start(r, p->most_held_ns),
				     .name = name,
				     .keeps = keeps,
				     .process = memory_process_name(r, p->process)};

	snprintf(name, sizeof(name), "%s, 0x%" PRIx64, memory_place_text(r, &place, where),
		 p->address);
	if (p->keeps != UINT64_MAX)
		snprintf(keeps, sizeof(keeps), "%" PRIu64 " bytes", p->keeps);
	report_table_add(f, &row);
}

struct report_table *memory_pools_report_table(const struct result *result)
{
	struct report_table *f = REPORT_TABLE_NEW("memory_pools", "Memory pools", pool_columns);
	struct memory_use use;

	memory_use_of(result->tables, &use);
	return report_table_fill(f, result, use.pools, use.pool_count, sizeof(*use.pools), by_held,
				 add_pool);
}
