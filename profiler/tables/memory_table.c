// SPDX-License-Identifier: MIT
#include "profiler/tables/memory_table.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/model/memory_use.h"
#include "profiler/model/result.h"
#include "profiler/tables/caching_allocator.h"
#include "profiler/tables/report_table.h"
#include "profiler/tables/memory_place.h"
#include "profiler/tables/launch_shapes.h"

/* ---- by device ---- */

enum total_column {
	PEAK,
	PEAK_TIME,
	LEFT,
	LEFT_PIECES,
	ALLOCATED,
	ALLOCATIONS,
	FREES,
	UNKNOWN,
	WHERE,
	ENDED,
	PID,
	TOTAL_COLUMNS
};

static const struct report_column total_columns[TOTAL_COLUMNS] = {
	[PEAK] = {"peak_bytes", "Peak", REPORT_CELL_BYTES, 11},
	[PEAK_TIME] = {"peak_at_ns", "At", REPORT_CELL_TIME, 11},
	[LEFT] = {"left_bytes", "Left", REPORT_CELL_BYTES, 11},
	[LEFT_PIECES] = {"left", "Pieces left", REPORT_CELL_COUNT, 11},
	[ALLOCATED] = {"allocated_bytes", "Allocated", REPORT_CELL_BYTES, 11},
	[ALLOCATIONS] = {"allocations", "Allocations", REPORT_CELL_COUNT, 11},
	[FREES] = {"frees", "Frees", REPORT_CELL_COUNT, 9},
	[UNKNOWN] = {"unknown_frees", "Unknown", REPORT_CELL_COUNT, 8},
	[WHERE] = {"memory", "Memory", REPORT_CELL_TEXT, UINT8_MAX},
	[ENDED] = {"freed_with_context", "Freed with their context", REPORT_CELL_COUNT, 0},
	[PID] = {"process", "Process", REPORT_CELL_TEXT, 0},
};

static int by_peak(const void *a, const void *b)
{
	const struct memory_total *x = *(const struct memory_total *const *)a,
				  *y = *(const struct memory_total *const *)b;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->peak_bytes != y->peak_bytes)
		return x->peak_bytes < y->peak_bytes ? 1 : -1;
	return x < y ? -1 : x > y;
}

static void add_total(struct report_table *f, const struct result *r, const void *record)
{
	const struct memory_total *t = record;
	uint64_t start_ns = r->totals.start_ns;
	union report_cell row[TOTAL_COLUMNS];
	char where[MEMORY_PLACE_BYTES];

	row[PEAK].number = t->peak_bytes;
	row[PEAK_TIME].number = t->peak_ns > start_ns ? t->peak_ns - start_ns : 0;
	row[LEFT].number = t->left_bytes;
	row[LEFT_PIECES].number = t->left;
	row[ALLOCATED].number = t->allocated_bytes;
	row[ALLOCATIONS].number = t->allocations;
	row[FREES].number = t->frees;
	row[UNKNOWN].number = t->unknown;
	row[WHERE].text = memory_place_text(r, t, where);
	row[ENDED].number = t->ended;
	row[PID].text = memory_process_name(r, t->process);
	report_table_add(f, row);
}

struct report_table *memory_totals_report_table(const struct result *result)
{
	struct report_table *f = report_table_new("memory", "Memory", total_columns, TOTAL_COLUMNS);
	struct memory_use use;

	memory_use_of(result->tables, &use);
	return report_table_fill(f, result, use.totals, use.total_count, sizeof(*use.totals),
				 by_peak, add_total);
}

/* ---- by stack ---- */

enum row_column {
	ROW_PEAK,
	ROW_AT_PEAK,
	ROW_LEFT,
	ROW_LEFT_PIECES,
	ROW_ALLOCATED,
	ROW_ALLOCATIONS,
	ROW_FUNCTION,
	ROW_PATH,
	ROW_WHERE,
	ROW_ALLOCATOR,
	ROW_COLUMNS
};

static const struct report_column row_columns[ROW_COLUMNS] = {
	[ROW_PEAK] = {"peak_bytes", "At the peak", REPORT_CELL_BYTES, 11},
	[ROW_AT_PEAK] = {"at_peak", "Pieces", REPORT_CELL_COUNT, 9},
	[ROW_LEFT] = {"left_bytes", "Left", REPORT_CELL_BYTES, 11},
	[ROW_LEFT_PIECES] = {"left", "Pieces left", REPORT_CELL_COUNT, 11},
	[ROW_ALLOCATED] = {"allocated_bytes", "Allocated", REPORT_CELL_BYTES, 11},
	[ROW_ALLOCATIONS] = {"allocations", "Allocations", REPORT_CELL_COUNT, 11},
	[ROW_FUNCTION] = {"memory", "Memory", REPORT_CELL_TEXT, UINT8_MAX},
	[ROW_PATH] = {"allocated_by", "Allocated by", REPORT_CELL_NOTE, 0},
	[ROW_WHERE] = {"process", "Process", REPORT_CELL_TEXT, 0},
	[ROW_ALLOCATOR] = {"allocator", "Held by", REPORT_CELL_TEXT, 0},
};

static int by_use(const void *a, const void *b)
{
	const struct memory_row *x = *(const struct memory_row *const *)a,
				*y = *(const struct memory_row *const *)b;

	if (x->peak_bytes != y->peak_bytes)
		return x->peak_bytes < y->peak_bytes ? 1 : -1;
	if (x->left_bytes != y->left_bytes)
		return x->left_bytes < y->left_bytes ? 1 : -1;
	if (x->allocated_bytes != y->allocated_bytes)
		return x->allocated_bytes < y->allocated_bytes ? 1 : -1;
	return x < y ? -1 : x > y;
}

static void add_row(struct report_table *f, const struct result *r, const void *record)
{
	const struct memory_row *m = record;
	/* the stacks are those of the whole run's result */
	const struct result *whole = result_whole(r);
	const struct memory_total *t =
		result_table_row(result_tables_find(r->tables, &memory_totals_table),
				 &memory_totals_table, m->total);
	const struct caching_allocator *allocator = caching_allocator_of(whole, m->stack);
	char path[1024], where[MEMORY_PLACE_BYTES];
	union report_cell row[ROW_COLUMNS];

	launch_path(whole, m->stack, path, sizeof(path));
	row[ROW_PEAK].number = m->peak_bytes;
	row[ROW_AT_PEAK].number = m->at_peak;
	row[ROW_LEFT].number = m->left_bytes;
	row[ROW_LEFT_PIECES].number = m->left;
	row[ROW_ALLOCATED].number = m->allocated_bytes;
	row[ROW_ALLOCATIONS].number = m->allocations;
	row[ROW_FUNCTION].text = memory_place_text(r, t, where);
	row[ROW_PATH].text = path;
	row[ROW_WHERE].text = memory_process_name(r, t->process);
	row[ROW_ALLOCATOR].text = allocator ? allocator->name : "";
	report_table_add(f, row);
}

struct report_table *memory_rows_report_table(const struct result *result)
{
	struct report_table *f =
		report_table_new("allocations", "Allocations", row_columns, ROW_COLUMNS);
	struct memory_use use;

	memory_use_of(result->tables, &use);
	return report_table_fill(f, result, use.rows, use.row_count, sizeof(*use.rows), by_use,
				 add_row);
}

/* ---- pools ---- */

enum pool_column {
	MOST_HELD,
	MOST_USED,
	PEAK_HELD,
	PEAK_USED,
	LEFT_HELD,
	LEFT_USED,
	POOL,
	MOST_HELD_TIME,
	KEEPS,
	POOL_PROCESS,
	POOL_COLUMNS
};

static const struct report_column pool_columns[POOL_COLUMNS] = {
	[MOST_HELD] = {"most_held_bytes", "Most held", REPORT_CELL_BYTES, 11},
	[MOST_USED] = {"most_used_bytes", "Most used", REPORT_CELL_BYTES, 11},
	[PEAK_HELD] = {"held_at_peak_bytes", "At the peak", REPORT_CELL_BYTES, 11},
	[PEAK_USED] = {"used_at_peak_bytes", "Used then", REPORT_CELL_BYTES, 11},
	[LEFT_HELD] = {"held_at_end_bytes", "At the end", REPORT_CELL_BYTES, 11},
	[LEFT_USED] = {"used_at_end_bytes", "Used then", REPORT_CELL_BYTES, 11},
	[POOL] = {"pool", "Pool", REPORT_CELL_TEXT, UINT8_MAX},
	[MOST_HELD_TIME] = {"most_held_at_ns", "Most held at", REPORT_CELL_TIME, 0},
	[KEEPS] = {"keeps", "Release threshold", REPORT_CELL_TEXT, 0},
	[POOL_PROCESS] = {"process", "Process", REPORT_CELL_TEXT, 0},
};

static int by_held(const void *a, const void *b)
{
	const struct memory_pool *x = *(const struct memory_pool *const *)a,
				 *y = *(const struct memory_pool *const *)b;

	if (x->most_held != y->most_held)
		return x->most_held < y->most_held ? 1 : -1;
	return x < y ? -1 : x > y;
}

static void add_pool(struct report_table *f, const struct result *r, const void *record)
{
	const struct memory_pool *p = record;
	const struct memory_total place = {
		.process = p->process, .device = p->device, .kind = p->kind};
	uint64_t start_ns = r->totals.start_ns;
	char where[MEMORY_PLACE_BYTES], name[MEMORY_PLACE_BYTES + 32], keeps[32];
	union report_cell row[POOL_COLUMNS];

	memory_place_text(r, &place, where);
	snprintf(name, sizeof(name), "%s, 0x%" PRIx64, where, p->address);
	if (p->keeps == UINT64_MAX)
		snprintf(keeps, sizeof(keeps), "all");
	else
		snprintf(keeps, sizeof(keeps), "%" PRIu64 " bytes", p->keeps);
	row[MOST_HELD].number = p->most_held;
	row[MOST_USED].number = p->most_used;
	row[PEAK_HELD].number = p->peak_held;
	row[PEAK_USED].number = p->peak_used;
	row[LEFT_HELD].number = p->left_held;
	row[LEFT_USED].number = p->left_used;
	row[POOL].text = name;
	row[MOST_HELD_TIME].number = p->most_held_ns > start_ns ? p->most_held_ns - start_ns : 0;
	row[KEEPS].text = keeps;
	row[POOL_PROCESS].text = memory_process_name(r, p->process);
	report_table_add(f, row);
}

struct report_table *memory_pools_report_table(const struct result *result)
{
	struct report_table *f =
		report_table_new("memory_pools", "Memory pools", pool_columns, POOL_COLUMNS);
	struct memory_use use;

	memory_use_of(result->tables, &use);
	return report_table_fill(f, result, use.pools, use.pool_count, sizeof(*use.pools), by_held,
				 add_pool);
}
