// SPDX-License-Identifier: MIT
#include "profiler/profile/counters.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cupti_trace/hw/metric_list.h"
#include "symbolize/util/saturate.h"
#include "profiler/profile/figures.h"
#include "profiler/profile/result.h"
#include "symbolize/util/array.h"
#include "symbolize/util/hash.h"
#include "symbolize/util/text.h"

void counters_release(struct counter_table *c)
{
	free(c->rows);
	free(c->values);
	hash_index_release(&c->index);
	memset(c, 0, sizeof(*c));
}

uint32_t counters_metric(struct counter_table *c, const char *name, const char *unit)
{
	for (uint32_t i = 0; i < c->metric_count; i++)
		if (strcmp(c->metrics[i].name, name) == 0)
			return i;
	if (c->metric_count == COUNTERS_METRICS_MAX)
		return COUNTERS_NONE;
	c->metrics[c->metric_count] = (struct counter_metric){name, unit};
	return c->metric_count++;
}

static bool row_equal(const void *records, uint32_t position, const void *key)
{
	const struct counter_row *a = (const struct counter_row *)records + position, *b = key;

	return a->stack == b->stack && a->metric == b->metric;
}

/* NULL: no room. */
static struct counter_row *row_of(struct counter_table *c, uint32_t stack, uint32_t metric)
{
	struct counter_row key = {.stack = stack, .metric = metric};
	uint32_t hash = hash_pair(stack, metric);
	uint32_t at = hash_index_find(&c->index, hash, row_equal, c->rows, &key);

	if (at != HASH_INDEX_NONE)
		return &c->rows[at];
	if (c->row_count == COUNTERS_ROWS_MAX ||
	    !allowance_take(c->memory, 2 * sizeof(key) + HASH_INDEX_ENTRY_BYTES) ||
	    !array_make_room(&c->rows, c->row_count, &c->row_capacity, sizeof(key)) ||
	    hash_index_add(&c->index, hash, c->row_count) != 0)
		return NULL;
	c->rows[c->row_count] = key;
	return &c->rows[c->row_count++];
}

void counters_add_row(struct counter_table *c, const struct counter_row *more)
{
	struct counter_row *row = more->count ? row_of(c, more->stack, more->metric) : NULL;

	if (!row || !isfinite(row->sum + more->sum)) {
		saturated_add(&c->not_kept, more->count);
		return;
	}
	if (row->count == 0 || more->least < row->least)
		row->least = more->least;
	if (row->count == 0 || more->most > row->most)
		row->most = more->most;
	saturated_add(&row->count, more->count);
	row->sum += more->sum;
}

void counters_add(struct counter_table *c, uint32_t stack, uint32_t metric, double value)
{
	if (isfinite(value))
		counters_add_row(c, &(struct counter_row){stack, metric, 1, value, value, value});
}

bool counters_make_room(struct counter_table *c, uint32_t values)
{
	return values <= COUNTERS_VALUES_MAX - c->value_count &&
	       allowance_take(c->memory, 2 * values * sizeof(*c->values)) &&
	       array_reserve(&c->values, c->value_count, values, &c->value_capacity,
			     sizeof(*c->values));
}

void counters_add_value(struct counter_table *c, const struct counter_value *value)
{
	if (isfinite(value->value))
		c->values[c->value_count++] = *value;
}

bool counters_is_additive(const char *metric)
{
	const char *dot = strchr(metric, '.');

	return dot && strcmp(dot, ".sum") == 0;
}

/* ---- which there are ---- */

static void add_sum(char sums[COUNTERS_SUMS_BYTES], const char *name)
{
	size_t used = strlen(sums);

	if (counters_is_additive(name) && used + strlen(name) + 3 < COUNTERS_SUMS_BYTES)
		snprintf(sums + used, COUNTERS_SUMS_BYTES - used, "%s%s", used ? ", " : "", name);
}

static void end_sums(char sums[COUNTERS_SUMS_BYTES])
{
	if (!sums[0])
		snprintf(sums, COUNTERS_SUMS_BYTES, "none");
}

bool counters_are_asked(const char *list, const char *metric, char sums[COUNTERS_SUMS_BYTES])
{
	static const char *const defaults[] = {METRIC_LIST_DEFAULT};
	bool is_asked = false;

	sums[0] = '\0';
	while (*list) {
		char name[COUNTERS_SUMS_BYTES] = "";
		size_t length = strcspn(list, ",");

		snprintf(name, sizeof(name), "%.*s", (int)length, list);
		for (size_t i = 0; i < sizeof(defaults) / sizeof(defaults[0]); i++)
			if (strcmp(name, "default") == 0) {
				add_sum(sums, defaults[i]);
				is_asked |= strcmp(defaults[i], metric) == 0;
			}
		add_sum(sums, name);
		is_asked |= strcmp(name, metric) == 0;
		list += length + (list[length] == ',');
	}
	end_sums(sums);
	return is_asked;
}

bool counters_were_read(const struct counter_table *c, const char *metric,
			char sums[COUNTERS_SUMS_BYTES])
{
	bool was_read = false;

	sums[0] = '\0';
	for (uint32_t i = 0; i < c->metric_count; i++) {
		add_sum(sums, c->metrics[i].name);
		was_read |= strcmp(c->metrics[i].name, metric) == 0;
	}
	end_sums(sums);
	return was_read;
}

/* ---- as a table ---- */

enum column { MEAN, LEAST, MOST, UNIT, MEASURED, LAUNCHES, METRIC, KERNEL, COLUMNS };

#define LINES 40 /* of the report: some kernels, with some metrics each */

static const struct figure_column columns[COLUMNS] = {
	[MEAN] = {"mean", "Mean", FIGURE_NUMBER, 12},
	[LEAST] = {"least", "Least", FIGURE_NUMBER, 12},
	[MOST] = {"most", "Most", FIGURE_NUMBER, 12},
	[UNIT] = {"unit", "Unit", FIGURE_TEXT, 0},
	[MEASURED] = {"measured", "Measured", FIGURE_COUNT, 8},
	[LAUNCHES] = {"launches", "of", FIGURE_COUNT, 8},
	[METRIC] = {"metric", "Metric", FIGURE_TEXT, UINT8_MAX},
	[KERNEL] = {"kernel", "Kernel", FIGURE_TEXT, FIGURE_ABOVE},
};

/* A kernel, and one metric of it over all its stacks. */
struct kernel_metric {
	uint32_t frame, metric;
	uint64_t count, launches, ns; /* the latter two of the kernel */
	double sum, least, most;
};

/* What all launches of kernels took, by frame. */
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

/* Those with most time first. */
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

static void add_figure(struct figures *f, const struct result *whole, const struct counter_table *c,
		       const struct kernel_metric *k)
{
	/* not as a frame: the table may be shown beside a view, which has frames of its own */
	const char *kernel = whole->frames[k->frame].short_name;
	union figure row[COLUMNS];

	row[MEAN].real = k->sum / (double)k->count;
	row[LEAST].real = k->least;
	row[MOST].real = k->most;
	row[UNIT].text = c->metrics[k->metric].unit;
	row[METRIC].text = c->metrics[k->metric].name;
	row[MEASURED].number = k->count;
	row[LAUNCHES].number = k->launches;
	row[KERNEL].text = kernel;
	figures_add(f, row);
}

struct figures *counters_figures(const struct result *result)
{
	const struct counter_table *c = result->counters;
	/* the stacks are those of the whole run's result */
	const struct result *whole = result->counters_result ? result->counters_result : result;
	struct figures *f = figures_new("hardware_counters", "Hardware counters", columns, COLUMNS);
	uint32_t rows = c ? c->row_count : 0, count = 0;
	struct kernel_metric *list = calloc(rows + 1u, sizeof(*list));
	struct kernel_sum *sums = sum_kernels(whole);

	if (!f || !list || !sums) {
		figures_free(f);
		free(list);
		free(sums);
		errno = ENOMEM;
		return NULL;
	}
	for (uint32_t i = 0; i < rows; i++) {
		const struct counter_row *row = &c->rows[i];
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
	for (uint32_t i = 0; i < count; i++)
		add_figure(f, whole, c, &list[i]);
	if (c)
		f->left_out += c->not_kept;
	free(list);
	free(sums);
	return f;
}
