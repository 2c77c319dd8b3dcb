// SPDX-License-Identifier: MIT
#include "profiler/tables/counters_table.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include "profiler/model/result.h"
#include "profiler/tables/report_table.h"
#include "symbolize/util/record_set.h"
#include "symbolize/util/saturate.h"
#include "symbolize/util/sorted.h"

#define LINES 40 /* lines of the report: some kernels with some metrics each */

/* A kernel, and one metric of it over all its stacks. */
struct kernel_metric {
	uint32_t frame, metric;
	uint64_t count, launches, ns; /* `count` is of the metric; the others, of the kernel */
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
	REPORT_COLUMN(counter_cells, sums.launches, "launches", "Launches", COUNT, 8),
	REPORT_COLUMN(counter_cells, metric, "metric", "Metric", TEXT, UINT8_MAX),
	REPORT_COLUMN(counter_cells, kernel, "kernel", "Kernel", TEXT, REPORT_CELL_ABOVE),
};

/* The sums of a kernel's launches. */
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

/* Orders by the kernels' time, the longest first; then by their frames and metrics. */
static int by_time(const void *a, const void *b)
{
	const struct kernel_metric *x = a, *y = b;
	int order = compare_numbers(y->ns, x->ns);

	order = order ? order : compare_numbers(x->frame, y->frame);
	return order ? order : compare_numbers(x->metric, y->metric);
}

struct kernel_metrics {
	RECORD_SET(struct kernel_metric);
};

/* Returns false if out of memory. */
static bool add_row(struct kernel_metrics *m, uint32_t frame, const struct counter_row *row,
		    const struct kernel_sum *sum)
{
	const uint32_t key[] = {frame, row->metric};
	uint32_t at = record_find(m, &key);
	struct kernel_metric *k;

	if (at == RECORD_NONE)
		return record_add(m, &key,
				  (&(struct kernel_metric){frame, row->metric, row->count,
							   sum->launches, sum->ns, row->sum,
							   row->least, row->most})) != RECORD_NONE;
	k = &m->list[at];
	saturated_add(&k->count, row->count);
	k->sum = saturated_real(k->sum, row->sum);
	k->least = fmin(k->least, row->least);
	k->most = fmax(k->most, row->most);
	return true;
}

struct report_table *counters_report_table(const struct result *result)
{
	const struct counter_table *c = result->counters;
	/* counters have the stacks of the whole run */
	const struct result *whole = result->counters_result ? result->counters_result : result;
	struct report_table *f =
		REPORT_TABLE_NEW("hardware_counters", "Hardware counters", columns);
	struct kernel_sum *sums = sum_kernels(whole);
	struct kernel_metrics metrics = {.count = 0};
	bool has_all = f && sums;

	for (uint32_t i = 0; has_all && c && i < c->rows.count; i++) {
		const struct counter_row *row = &c->rows.list[i];
		uint32_t frame = whole->stacks[row->stack].frame;

		if (row->stack != RESULT_ROOT && row->count)
			has_all = add_row(&metrics, frame, row, &sums[frame]);
	}
	free(sums);
	if (!has_all) {
		record_set_release(&metrics.set);
		report_table_free(f);
		errno = ENOMEM;
		return NULL;
	}
	f->lines = LINES;
	if (metrics.count)
		qsort(metrics.list, metrics.count, sizeof(*metrics.list), by_time);
	for (uint32_t i = 0; i < metrics.count; i++) {
		const struct kernel_metric *k = &metrics.list[i];
		/* a text, not a frame: a view that shows it has other frames */
		const struct counter_cells row = {
			*k, k->sum / (double)k->count, c->metrics[k->metric].unit,
			c->metrics[k->metric].name, whole->frames[k->frame].short_name};

		report_table_add(f, &row);
	}
	if (c)
		f->left_out += c->not_kept;
	record_set_release(&metrics.set);
	return f;
}
