// SPDX-License-Identifier: MIT
#include "profiler/tables/counters_table.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include "profiler/model/result.h"
#include "profiler/tables/report_table.h"
#include "symbolize/util/saturate.h"

#define LINES 40 /* of the report: some kernels, with some metrics each */

/* A kernel, and one metric of it over all its stacks. */
struct kernel_metric {
	uint32_t frame, metric;
	uint64_t count, launches, ns; /* the latter two of the kernel */
	double sum, least, most;
};

struct counter_cells {
	struct kernel_metric sums;
	double mean;
	const char *unit, *metric, *kernel;
};

static const struct report_column columns[] = {
	REPORT_COLUMN(counter_cells, mean, "mean", "Mean", NUMBER, 12),
	REPORT_COLUMN(counter_cells, sums.least, "least", "Least", NUMBER, 12),
	REPORT_COLUMN(counter_cells, sums.most, "most", "Most", NUMBER, 12),
	REPORT_COLUMN(counter_cells, unit, "unit", "Unit", TEXT, 0),
	REPORT_COLUMN(counter_cells, sums.count, "measured", "Measured", COUNT, 8),
	REPORT_COLUMN(counter_cells, sums.launches, "launches", "of", COUNT, 8),
	REPORT_COLUMN(counter_cells, metric, "metric", "Metric", TEXT, UINT8_MAX),
	REPORT_COLUMN(counter_cells, kernel, "kernel", "Kernel", TEXT, REPORT_CELL_ABOVE),
};

/* The time of all launches of kernels, by frame. */
struct kernel_sum {
	uint64_t launches, ns;
};

static struct kernel_sum *sum_kernels(const struct result *r)
{
	struct kernel_sum *sums = calloc(r->frame_count + 1u, sizeof(*sums));

	for (uint32_t i = 0; sums && i < r->row_count; i++) {
		const struct row *row = &r->rows[i];
		struct kernel_sum *sum;

		if (row->kind != ROW_GPU || row->stack == RESULT_ROOT)
			continue;
		sum = &sums[r->stacks[result_work_stack(r, row->stack)].frame];
		sum->launches += row->count;
		sum->ns += row->ns;
	}
	return sums;
}

static int by_frame(const void *a, const void *b)
{
	const struct kernel_metric *x = a, *y = b;

	if (x->frame != y->frame)
		return x->frame < y->frame ? -1 : 1;
	return x->metric < y->metric ? -1 : x->metric > y->metric;
}

/* Orders kernels by time, the longest first. */
static int by_kernel(const void *a, const void *b)
{
	const struct kernel_metric *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? 1 : -1;
	return by_frame(a, b);
}

/* Adds up those of one kernel and metric, which are side by side. Returns how many are left. */
static uint32_t merge(struct kernel_metric *list, uint32_t count)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < count; i++) {
		struct kernel_metric *last = kept ? &list[kept - 1] : NULL;
		const struct kernel_metric *k = &list[i];

		if (!last || by_frame(last, k) != 0) {
			list[kept++] = *k;
			continue;
		}
		saturated_add(&last->count, k->count);
		last->sum = saturated_real(last->sum, k->sum);
		last->least = fmin(last->least, k->least);
		last->most = fmax(last->most, k->most);
	}
	return kept;
}

struct report_table *counters_report_table(const struct result *result)
{
	const struct counter_table *c = result->counters;
	/* the stacks are those of the whole run's result */
	const struct result *whole = result->counters_result ? result->counters_result : result;
	struct report_table *f =
		REPORT_TABLE_NEW("hardware_counters", "Hardware counters", columns);
	uint32_t rows = c ? c->rows.count : 0, count = 0;
	struct kernel_metric *list = calloc(rows + 1u, sizeof(*list));
	struct kernel_sum *sums = sum_kernels(whole);

	if (!f || !list || !sums) {
		report_table_free(f);
		free(list);
		free(sums);
		errno = ENOMEM;
		return NULL;
	}
	for (uint32_t i = 0; i < rows; i++) {
		const struct counter_row *row = &c->rows.list[i];
		uint32_t frame = whole->stacks[row->stack].frame;

		if (row->stack != RESULT_ROOT && row->count)
			list[count++] = (struct kernel_metric){
				frame,          row->metric, row->count, sums[frame].launches,
				sums[frame].ns, row->sum,    row->least, row->most};
	}
	f->lines = LINES;
	qsort(list, count, sizeof(*list), by_frame);
	count = merge(list, count);
	qsort(list, count, sizeof(*list), by_kernel);
	for (uint32_t i = 0; i < count; i++) {
		const struct kernel_metric *k = &list[i];
		/* not as a frame: the table may be shown beside a view, which has frames of its own
		 */
		const struct counter_cells row = {
			*k, k->sum / (double)k->count, c->metrics[k->metric].unit,
			c->metrics[k->metric].name, whole->frames[k->frame].short_name};

		report_table_add(f, &row);
	}
	if (c)
		f->left_out += c->not_kept;
	free(list);
	free(sums);
	return f;
}
