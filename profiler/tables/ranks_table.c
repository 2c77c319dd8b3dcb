// SPDX-License-Identifier: MIT
#include "profiler/tables/ranks_table.h"

#include <errno.h>
#include <stdlib.h>
#include "profiler/model/result.h"
#include "profiler/tables/collectives.h"
#include "profiler/tables/report_table.h"
#include "symbolize/util/sorted.h"

/* Returns the rank that a frame waits for. Returns NULL for other frames and unknown ranks. */
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

struct rank_row {
	struct rank_info rank;
	struct rank_time time;
	uint64_t started_after_ns;
};

static const struct report_column columns[] = {
	REPORT_COLUMN(rank_row, rank.rank, "rank", "Rank", COUNT, 7),
	REPORT_COLUMN(rank_row, rank.elapsed_ns, "elapsed_ns", "Time", TIME, 11),
	REPORT_COLUMN(rank_row, time.cpu_ns, "cpu_ns", "CPU", TIME, 11),
	REPORT_COLUMN(rank_row, time.gpu_ns, "gpu_ns", "GPU", TIME, 11),
	REPORT_COLUMN(rank_row, time.collective_ns, "collectives_ns", "Collectives", TIME, 11),
	REPORT_COLUMN(rank_row, time.wait_ns, "waiting_ns", "Waiting", TIME, 11),
	REPORT_COLUMN(rank_row, time.call_ns, "timed_calls_ns", "Timed calls", TIME, 0),
	REPORT_COLUMN(rank_row, rank.exit_status, "exit_status", "Exit", COUNT, 5),
	REPORT_COLUMN(rank_row, rank.host, "host", "Host", TEXT, UINT8_MAX),
	REPORT_COLUMN(rank_row, started_after_ns, "started_after_ns", "Started after", TIME, 0),
};

/* Returns a copy whose host is not NULL. */
static struct rank_info with_host(const struct rank_info *rank)
{
	struct rank_info copy = *rank;

	copy.host = rank->host ? rank->host : "";
	return copy;
}

struct report_table *ranks_report_table(const struct result *result)
{
	struct rank_time *times = rank_times(result);
	struct report_table *f = times ? REPORT_TABLE_NEW("ranks", "Ranks", columns) : NULL;
	const uint64_t start_ns = result->totals.start_ns;

	for (uint32_t i = 0; f && i < result->rank_count; i++) {
		const struct rank_info *rank = &result->ranks[i];
		const struct rank_row row = {with_host(rank), times[i],
					     rank->start_ns > start_ns ? rank->start_ns - start_ns
								       : 0};

		report_table_add(f, &row);
	}
	free(times);
	errno = ENOMEM;
	return f;
}

/* ---- who waited for whom ---- */

static const struct report_column late_columns[] = {
	REPORT_COLUMN(rank_row, rank.rank, "rank", "Rank", COUNT, 7),
	REPORT_COLUMN(rank_row, time.collective_ns, "ns", "Time", TIME, 11),
	REPORT_COLUMN(rank_row, time.waited_ns, "waited_ns", "Waited", TIME, 11),
	REPORT_COLUMN(rank_row, time.kept_ns, "others_waited_ns", "Others waited", TIME, 15),
	REPORT_COLUMN(rank_row, rank.came_last, "came_last", "Came last", COUNT, 11),
	REPORT_COLUMN(rank_row, rank.undecided, "undecided", "Possibly last", COUNT, 14),
	REPORT_COLUMN(rank_row, rank.collectives, "compared", "Compared", COUNT, 9),
	REPORT_COLUMN(rank_row, rank.alone, "without_peers", "Without peers", COUNT, 15),
};

/* Orders by the time that others waited, the longest first. */
static int compare_late(const void *a, const void *b)
{
	const struct rank_row *x = *(const struct rank_row *const *)a,
			      *y = *(const struct rank_row *const *)b;
	uint64_t x_last = x->rank.came_last + x->rank.undecided,
		 y_last = y->rank.came_last + y->rank.undecided;
	int order = compare_numbers(y->time.kept_ns, x->time.kept_ns);

	order = order ? order : compare_numbers(y_last, x_last);
	return order ? order : compare_numbers(x->rank.rank, y->rank.rank);
}

static void add_late(struct report_table *f, const struct result *result, const void *record)
{
	const struct rank_row *row = record;

	(void)result;
	if (row->rank.collectives || row->rank.alone)
		report_table_add(f, row);
}

struct report_table *ranks_collectives_report_table(const struct result *result)
{
	struct rank_time *times = rank_times(result);
	struct rank_row *rows = calloc(result->rank_count + 1u, sizeof(*rows));
	struct report_table *f =
		times && rows ? REPORT_TABLE_NEW("collectives", "Collectives", late_columns) : NULL;

	for (uint32_t i = 0; f && i < result->rank_count; i++)
		rows[i] = (struct rank_row){result->ranks[i], times[i], 0};
	f = report_table_fill(f, result, rows, result->rank_count, sizeof(*rows), compare_late,
			      add_late);
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

struct clock_row {
	struct rank_info rank;
	uint32_t with;
	double moved_us, drift_us;
};

static const struct report_column clock_columns[] = {
	REPORT_COLUMN(clock_row, rank.rank, "rank", "Rank", COUNT, 7),
	REPORT_COLUMN(clock_row, with, "with_rank", "With", COUNT, 7),
	REPORT_COLUMN(clock_row, rank.alignment.collectives, "collectives", "Collectives", COUNT,
		      13),
	REPORT_COLUMN(clock_row, rank.alignment.error_ns, "error_ns", "Error", TIME, 12),
	REPORT_COLUMN(clock_row, rank.alignment.bound_ns, "bound_ns", "Error bound", TIME, 12),
	REPORT_COLUMN(clock_row, moved_us, "moved_us", "Offset, us", NUMBER, 13),
	REPORT_COLUMN(clock_row, drift_us, "drift_us_per_s", "Drift, us/s", NUMBER, 12),
	REPORT_COLUMN(clock_row, rank.host, "host", "Host", TEXT, UINT8_MAX),
};

/* Orders clocks by error, the largest first. */
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
	struct clock_row row;

	if (!rank || !rank->alignment.collectives)
		return;
	row = (struct clock_row){with_host(rank), rank->rank,
				 (double)rank->alignment.moved_ns / 1e3,
				 (double)rank->alignment.drift / 1e3};
	for (uint32_t i = result->rank_count; i-- > 0;)
		if (result->ranks[i].clock == rank->alignment.reference)
			row.with = result->ranks[i].rank;
	report_table_add(f, &row);
}

struct report_table *ranks_clocks_report_table(const struct result *result)
{
	const struct rank_info **clocks = ranks_of_clocks(result);
	struct report_table *f =
		clocks ? REPORT_TABLE_NEW("clocks", "Clocks aligned by collectives", clock_columns)
		       : NULL;

	f = report_table_fill(f, result, clocks, result->rank_count, sizeof(*clocks),
			      compare_clocks, add_clock);
	free(clocks);
	return f;
}
