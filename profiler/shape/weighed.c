// SPDX-License-Identifier: MIT
#include "profiler/shape/weighed.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/model/memory_use.h"
#include "profiler/shape/rounding.h"
#include "symbolize/util/saturate.h"

#define MOST 0x1p63
#define CUTS_MAX 64

void weighed_release(struct weighed *w)
{
	free(w->rows);
	free(w->places);
	w->rows = NULL;
	w->places = NULL;
}

/* Makes the first `count` rows of the list the result's. */
static void give_rows(struct weighed *w, struct result *result, uint32_t count)
{
	result->rows = w->rows;
	result->row_count = count;
	result->timeline = NULL;
	result->weight = &w->weight;
}

/* ---- memory ---- */

/* Lists the places of the result, and one for each total. Returns false if out of memory. */
static bool add_places(struct weighed *w, struct result *result, const struct memory_use *use)
{
	uint32_t before = result->place_count, totals = use->total_count;

	w->places = calloc((size_t)before + totals + 1, sizeof(*w->places));
	if (!w->places)
		return false;
	if (before)
		memcpy(w->places, result->places, before * sizeof(*w->places));
	for (uint32_t i = 0; i < totals; i++) {
		struct place *place = &w->places[before + i];

		*place = place_unknown();
		place->part[PLACE_PROCESS] = use->totals[i].process;
		place->part[PLACE_DEVICE] = use->totals[i].device;
	}
	result->places = w->places;
	result->place_count = before + totals;
	return true;
}

int weighed_by_memory(struct weighed *w, struct result *result, enum stack_weight weight)
{
	uint32_t kept = 0, first = result->place_count;
	struct memory_use use;

	memory_use_of(result->tables, &use);
	w->weight = (struct weight){"Memory", "", WEIGHT_BYTES};
	w->rows = calloc(use.row_count + 1u, sizeof(*w->rows));
	if (!w->rows || !add_places(w, result, &use))
		return -ENOMEM;
	for (uint32_t i = 0; i < use.row_count; i++) {
		const struct memory_row *row = &use.rows[i];
		uint64_t bytes = weight == WEIGHT_PEAK ? row->peak_bytes : row->left_bytes;
		uint64_t pieces = weight == WEIGHT_PEAK ? row->at_peak : row->left;

		if (bytes)
			w->rows[kept++] = (struct row){.kind = ROW_GPU,
						       .stack = row->stack,
						       .place = first + row->total,
						       .count = pieces,
						       .ns = bytes,
						       .bytes = bytes};
	}
	give_rows(w, result, kept);
	return 0;
}

/* ---- hardware counters ---- */

/* Sum of the values read. */
struct readings {
	uint64_t count;
	double sum;
};

/* Sums by stack, and by the kernel's frame. */
struct metric_readings {
	struct readings *stacks, *kernels;
};

static void add_reading(struct readings *r, const struct counter_row *row)
{
	saturated_add(&r->count, row->count);
	r->sum = saturated_real(r->sum, row->sum);
}

/* Returns false for a negative sum, too: a program may claim it, but no sum of events is negative.
 */
static bool has_mean(const struct readings *r)
{
	return r->count && r->sum >= 0;
}

static bool is_kernel(const struct result *r, uint32_t stack)
{
	return stack != RESULT_ROOT && r->frames[r->stacks[stack].frame].class == CLASS_GPU_KERNEL;
}

static int sum_readings(struct metric_readings *m, const struct result *r, const char *metric,
			char unit[WEIGHED_UNIT_BYTES])
{
	const struct counter_table *c = r->counters;

	m->stacks = calloc(r->stack_count + 1u, sizeof(*m->stacks));
	m->kernels = calloc(r->frame_count + 1u, sizeof(*m->kernels));
	if (!m->stacks || !m->kernels)
		return -ENOMEM;
	for (uint32_t i = 0; c && i < c->rows.count; i++) {
		const struct counter_row *row = &c->rows.list[i];
		const struct counter_metric *of = &c->metrics[row->metric];

		if (!is_kernel(r, row->stack) || strcmp(of->name, metric) != 0)
			continue;
		add_reading(&m->stacks[row->stack], row);
		add_reading(&m->kernels[r->stacks[row->stack].frame], row);
		if (strlen(of->unit) < WEIGHED_UNIT_BYTES &&
		    of->unit[strspn(of->unit, "abcdefghijklmnopqrstuvwxyz"
					      "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")] == '\0')
			memcpy(unit, of->unit, strlen(of->unit) + 1);
	}
	return 0;
}

/*
 * Returns the value of a row's launches; negative if they have none. Rows that --stalls put below a
 * kernel have time but no launches: these are the kernel's.
 */
static double value_of(const struct metric_readings *m, const struct result *r,
		       const struct row *row, struct weighed_launches *l)
{
	uint32_t stack = result_work_stack(r, row->stack);
	const struct readings *here = &m->stacks[stack], *kernel;

	l->gpu_ns += row->ns;
	if (!is_kernel(r, stack)) {
		l->other_ns += row->ns;
		return -1;
	}
	kernel = &m->kernels[r->stacks[stack].frame];
	if (!has_mean(kernel)) {
		l->without += row->count;
		l->without_ns += row->ns;
		return -1;
	}
	l->weighed += row->count;
	if (!has_mean(here))
		here = kernel;
	return here->sum / (double)here->count * (double)row->count;
}

/* Lists the rows that have a value, and the values. Returns their count. */
static uint32_t weigh_rows(struct weighed *w, const struct metric_readings *m,
			   const struct result *r, double *values)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < r->row_count; i++) {
		const struct row *row = &r->rows[i];
		double value = row->kind == ROW_GPU ? value_of(m, r, row, &w->launches) : -1;

		if (value <= 0)
			continue;
		values[kept] = value;
		w->rows[kept] = *row;
		w->rows[kept].stack = result_work_stack(r, row->stack);
		w->rows[kept++].bytes = 0;
	}
	for (uint32_t i = 0; i < r->frame_count; i++)
		if (has_mean(&m->kernels[i]))
			saturated_add(&w->launches.read, m->kernels[i].count);
	return kept;
}

/*
 * Returns the limit to which large values must be cut so that all add up to 2^62: what the small
 * values leave over, shared among the large ones. With each step fewer values are large.
 */
static double most_of(const double *values, uint32_t count)
{
	double most = MOST / 2 / count;

	for (int i = 0; i < CUTS_MAX; i++) {
		double rest = MOST / 2;
		uint32_t large = 0;

		for (uint32_t k = 0; k < count; k++) {
			if (values[k] > most)
				large++;
			else
				rest -= values[k];
		}
		if (large == 0 || rest / large <= most)
			break;
		most = rest / large;
	}
	return most;
}

/*
 * Cuts the largest values if all add up to 2^63 or more, as a program may claim. The others stay.
 * Returns the number of values that were cut.
 */
static uint64_t cut_values(double *values, uint32_t count)
{
	double sum = 0, most;
	uint64_t cut = 0;

	for (uint32_t i = 0; i < count; i++)
		sum += values[i];
	if (sum < MOST)
		return 0;
	most = most_of(values, count);
	for (uint32_t i = 0; i < count; i++) {
		if (values[i] <= most)
			continue;
		values[i] = most;
		cut++;
	}
	return cut;
}

/* Returns 0, or -ENOMEM. */
static int round_values(struct row *rows, const double *values, uint32_t count)
{
	uint64_t *whole = calloc(count + 1u, sizeof(*whole)), total;
	int err = whole ? round_to_units(values, count, 1, whole, &total) : -ENOMEM;

	for (uint32_t i = 0; !err && i < count; i++)
		rows[i].ns = whole[i];
	free(whole);
	return err;
}

static void describe(struct weighed *w, const char *metric)
{
	const struct weighed_launches *l = &w->launches;

	w->weight = (struct weight){metric, w->note, w->unit};
	if (l->read == 0)
		snprintf(w->note, sizeof(w->note), "of which no launch was measured");
	else if (l->read < l->weighed)
		snprintf(w->note, sizeof(w->note),
			 "estimated from %" PRIu64 " of %" PRIu64 " launches", l->read, l->weighed);
	else
		snprintf(w->note, sizeof(w->note), "measured at all %" PRIu64 " launches",
			 l->weighed);
}

int weighed_by_metric(struct weighed *w, struct result *result, const char *metric)
{
	struct metric_readings m = {NULL, NULL};
	double *values = calloc(result->row_count + 1u, sizeof(*values));
	uint32_t kept = 0;
	int err = sum_readings(&m, result, metric, w->unit);

	w->rows = calloc(result->row_count + 1u, sizeof(*w->rows));
	if (!err && (!values || !w->rows))
		err = -ENOMEM;
	if (!err) {
		kept = weigh_rows(w, &m, result, values);
		w->launches.cut = cut_values(values, kept);
		err = round_values(w->rows, values, kept);
	}
	if (!err) {
		describe(w, metric);
		give_rows(w, result, kept);
	}
	free(m.stacks);
	free(m.kernels);
	free(values);
	return err;
}
