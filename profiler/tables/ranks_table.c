// SPDX-License-Identifier: MIT
#include "profiler/tables/ranks_table.h"

#include <errno.h>
#include <stdlib.h>
#include "profiler/model/result.h"
#include "profiler/tables/collectives.h"
#include "profiler/tables/report_table.h"

/* The rank that the frame says it waits for; NULL: none of the result's. */
static const struct rank_info *waited_for(const struct result *r, const struct frame_info *frame)
{
	uint32_t rank;

	if (frame->class != CLASS_WAIT || !ranks_is_wait(frame->name, &rank))
		return NULL;
	return ranks_find(r->ranks, r->rank_count, rank);
}

static void add_collective(struct rank_time *times, const struct result *r, const struct row *row,
			   struct rank_time *own)
{
	const struct rank_info *last = waited_for(r, &r->frames[r->stacks[row->stack].frame]);

	own->collective_ns += row->ns;
	if (!last)
		return;
	own->waited_ns += row->ns;
	times[last - r->ranks].kept_ns += row->ns;
}

static void add_row(struct rank_time *times, const struct result *r, const struct row *row)
{
	const struct rank_info *found = NULL;
	struct rank_time *t;
	uint32_t rank, stack = result_work_stack(r, row->stack);

	if (row->place < r->place_count && r->place_names &&
	    place_names_rank(r->place_names, r->places[row->place].part[PLACE_PROCESS], &rank))
		found = ranks_find(r->ranks, r->rank_count, rank);
	if (!found)
		return;
	t = &times[found - r->ranks];
	if (row->kind == ROW_CPU)
		t->cpu_ns += row->ns;
	else if (row->kind == ROW_WAIT)
		t->wait_ns += row->ns;
	else if (row->kind == ROW_CALL)
		t->call_ns += row->ns;
	if (row->kind != ROW_GPU)
		return;
	t->gpu_ns += row->ns;
	if (stack != RESULT_ROOT && collectives_is_nccl(&r->frames[r->stacks[stack].frame]))
		add_collective(times, r, row, t);
}

struct rank_time *rank_times(const struct result *result)
{
	struct rank_time *times = calloc(result->rank_count + 1u, sizeof(*times));

	for (uint32_t i = 0; times && i < result->row_count; i++)
		add_row(times, result, &result->rows[i]);
	return times;
}

/* ---- as a table ---- */

enum column { RANK, TIME, CPU, GPU, COLLECTIVES, WAITS, CALLS, EXIT, HOST, START, COLUMNS };

static const struct report_column columns[COLUMNS] = {
	[RANK] = {"rank", "Rank", REPORT_CELL_COUNT, 7},
	[TIME] = {"elapsed_ns", "Time", REPORT_CELL_TIME, 11},
	[CPU] = {"cpu_ns", "CPU", REPORT_CELL_TIME, 11},
	[GPU] = {"gpu_ns", "GPU", REPORT_CELL_TIME, 11},
	[COLLECTIVES] = {"collectives_ns", "Collectives", REPORT_CELL_TIME, 11},
	[WAITS] = {"waiting_ns", "Waiting", REPORT_CELL_TIME, 11},
	[CALLS] = {"timed_calls_ns", "Timed calls", REPORT_CELL_TIME, 0},
	[EXIT] = {"exit_status", "Exit", REPORT_CELL_COUNT, 5},
	[HOST] = {"host", "Host", REPORT_CELL_TEXT, UINT8_MAX},
	[START] = {"started_after_ns", "Started after", REPORT_CELL_TIME, 0},
};

/* An empty table, and what it is filled from. NULL with errno. */
static struct report_table *begin_table(const struct result *result, const char *id,
					const char *title, const struct report_column *its_columns,
					uint32_t count, struct rank_time **times)
{
	struct report_table *f = report_table_new(id, title, its_columns, count);

	*times = rank_times(result);
	if (f && *times)
		return f;
	report_table_free(f);
	free(*times);
	errno = ENOMEM;
	return NULL;
}

struct report_table *ranks_report_table(const struct result *result)
{
	struct rank_time *times;
	struct report_table *f = begin_table(result, "ranks", "Ranks", columns, COLUMNS, &times);

	if (!f)
		return NULL;
	for (uint32_t i = 0; i < result->rank_count; i++) {
		const struct rank_info *rank = &result->ranks[i];
		union report_cell row[COLUMNS];

		row[RANK].number = rank->rank;
		row[TIME].number = rank->elapsed_ns;
		row[CPU].number = times[i].cpu_ns;
		row[GPU].number = times[i].gpu_ns;
		row[COLLECTIVES].number = times[i].collective_ns;
		row[WAITS].number = times[i].wait_ns;
		row[CALLS].number = times[i].call_ns;
		row[EXIT].number = rank->exit_status;
		row[HOST].text = rank->host ? rank->host : "";
		row[START].number = rank->start_ns > result->totals.start_ns
					    ? rank->start_ns - result->totals.start_ns
					    : 0;
		report_table_add(f, row);
	}
	free(times);
	return f;
}

/* ---- who waited for whom ---- */

enum late {
	LATE_RANK,
	LATE_TIME,
	LATE_WAITED,
	LATE_KEPT,
	LATE_LAST,
	LATE_UNDECIDED,
	LATE_COMPARED,
	LATE_ALONE,
	LATE
};

static const struct report_column late_columns[LATE] = {
	[LATE_RANK] = {"rank", "Rank", REPORT_CELL_COUNT, 7},
	[LATE_TIME] = {"ns", "Time", REPORT_CELL_TIME, 11},
	[LATE_WAITED] = {"waited_ns", "Waited", REPORT_CELL_TIME, 11},
	[LATE_KEPT] = {"others_waited_ns", "Others waited", REPORT_CELL_TIME, 15},
	[LATE_LAST] = {"came_last", "Came last", REPORT_CELL_COUNT, 11},
	[LATE_UNDECIDED] = {"undecided", "Maybe last", REPORT_CELL_COUNT, 12},
	[LATE_COMPARED] = {"compared", "Of", REPORT_CELL_COUNT, 9},
	[LATE_ALONE] = {"without_peers", "Without peers", REPORT_CELL_COUNT, 15},
};

struct late_row {
	const struct rank_info *rank;
	const struct rank_time *time;
};

/* Whom others waited for longest comes first. */
static int compare_late(const void *a, const void *b)
{
	const struct late_row *x = *(const struct late_row *const *)a,
			      *y = *(const struct late_row *const *)b;
	uint64_t x_last = x->rank->came_last + x->rank->undecided,
		 y_last = y->rank->came_last + y->rank->undecided;

	if (x->time->kept_ns != y->time->kept_ns)
		return x->time->kept_ns > y->time->kept_ns ? -1 : 1;
	if (x_last != y_last)
		return x_last > y_last ? -1 : 1;
	return x->rank->rank < y->rank->rank ? -1 : x->rank->rank > y->rank->rank;
}

static void add_late(struct report_table *f, const struct result *result, const void *record)
{
	const struct late_row *r = record;
	const union report_cell row[LATE] = {
		[LATE_RANK].number = r->rank->rank,
		[LATE_TIME].number = r->time->collective_ns,
		[LATE_WAITED].number = r->time->waited_ns,
		[LATE_KEPT].number = r->time->kept_ns,
		[LATE_LAST].number = r->rank->came_last,
		[LATE_UNDECIDED].number = r->rank->undecided,
		[LATE_COMPARED].number = r->rank->collectives,
		[LATE_ALONE].number = r->rank->alone,
	};

	(void)result;
	if (r->rank->collectives || r->rank->alone)
		report_table_add(f, row);
}

struct report_table *ranks_collectives_report_table(const struct result *result)
{
	struct rank_time *times;
	struct report_table *f =
		begin_table(result, "collectives", "Collectives", late_columns, LATE, &times);
	struct late_row *rows = f ? calloc(result->rank_count + 1u, sizeof(*rows)) : NULL;

	if (!f)
		return NULL;
	for (uint32_t i = 0; rows && i < result->rank_count; i++)
		rows[i] = (struct late_row){&result->ranks[i], &times[i]};
	if (rows) {
		f = report_table_fill(f, result, rows, result->rank_count, sizeof(*rows),
				      compare_late, add_late);
	} else {
		report_table_free(f);
		f = NULL;
		errno = ENOMEM;
	}
	free(rows);
	free(times);
	return f;
}

/* ---- clocks ---- */

const struct rank_info **ranks_of_clocks(const struct result *result)
{
	const struct rank_info **clocks = calloc(result->rank_count + 1u, sizeof(*clocks));

	for (uint32_t i = result->rank_count; clocks && i-- > 0;)
		clocks[result->ranks[i].clock] = &result->ranks[i];
	return clocks;
}

enum clock_column { RANK_OF, WITH, BY, WITHIN, AT_MOST, MOVED, DRIFT, HOST_OF, CLOCK_COLUMNS };

static const struct report_column clock_columns[CLOCK_COLUMNS] = {
	[RANK_OF] = {"rank", "Rank", REPORT_CELL_COUNT, 7},
	[WITH] = {"with_rank", "With", REPORT_CELL_COUNT, 7},
	[BY] = {"collectives", "Collectives", REPORT_CELL_COUNT, 13},
	[WITHIN] = {"error_ns", "Within", REPORT_CELL_TIME, 12},
	[AT_MOST] = {"bound_ns", "At most", REPORT_CELL_TIME, 12},
	[MOVED] = {"moved_us", "Moved by us", REPORT_CELL_NUMBER, 13},
	[DRIFT] = {"drift_us_per_s", "us each s", REPORT_CELL_NUMBER, 11},
	[HOST_OF] = {"host", "Host", REPORT_CELL_TEXT, UINT8_MAX},
};

/* The least exact one comes first. */
static int compare_clocks(const void *a, const void *b)
{
	const struct rank_info *x = **(const struct rank_info *const *const *)a,
			       *y = **(const struct rank_info *const *const *)b;
	uint64_t x_error = x ? x->alignment.error_ns : 0, y_error = y ? y->alignment.error_ns : 0;

	if (x_error != y_error)
		return x_error > y_error ? -1 : 1;
	return x && y ? (x->rank < y->rank ? -1 : x->rank > y->rank) : !x - !y;
}

static void add_clock(struct report_table *f, const struct result *result, const void *record)
{
	const struct rank_info *rank = *(const struct rank_info *const *)record;
	union report_cell row[CLOCK_COLUMNS];

	if (!rank || !rank->alignment.collectives)
		return;
	row[RANK_OF].number = rank->rank;
	row[WITH].number = rank->rank;
	for (uint32_t i = result->rank_count; i-- > 0;)
		if (result->ranks[i].clock == rank->alignment.reference)
			row[WITH].number = result->ranks[i].rank;
	row[BY].number = rank->alignment.collectives;
	row[WITHIN].number = rank->alignment.error_ns;
	row[AT_MOST].number = rank->alignment.bound_ns;
	row[MOVED].real = (double)rank->alignment.moved_ns / 1e3;
	row[DRIFT].real = (double)rank->alignment.drift / 1e3;
	row[HOST_OF].text = rank->host ? rank->host : "";
	report_table_add(f, row);
}

struct report_table *ranks_clocks_report_table(const struct result *result)
{
	const struct rank_info **clocks = ranks_of_clocks(result);
	struct report_table *f = report_table_new("clocks", "Clocks aligned by collectives",
						  clock_columns, CLOCK_COLUMNS);

	if (clocks && f) {
		f = report_table_fill(f, result, clocks, result->rank_count, sizeof(*clocks),
				      compare_clocks, add_clock);
	} else {
		report_table_free(f);
		f = NULL;
		errno = ENOMEM;
	}
	free(clocks);
	return f;
}
