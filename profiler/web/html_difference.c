// SPDX-License-Identifier: MIT
#include "profiler/web/html_difference.h"

#include <math.h>

struct data {
	const struct comparison *comparison;
	struct text_table *texts;
	struct deflated *out; /* NULL: texts are added alone */
};

static void put(const struct data *d, uint64_t number)
{
	if (d->out)
		deflated_number(d->out, number);
}

static void put_text(const struct data *d, const char *text)
{
	put(d, text ? text_table_number(d->texts, text) + 1u : 0);
}

/* Returns an amount in whole units. */
static uint64_t whole(double amount)
{
	return (uint64_t)fmin(amount + 0.5, 1e18);
}

/* ---- rows ---- */

static void put_amounts(const struct data *d, const uint32_t *order)
{
	const struct comparison *c = d->comparison;
	const struct comparison_row *rows = c->rows;

	for (uint32_t run = 0; run < c->runs[SIDE_BEFORE] + c->runs[SIDE_AFTER]; run++)
		for (uint32_t i = 0; i < c->result.row_count; i++)
			put(d, whole(rows[order[i]].values[run]));
	for (int side = 0; side < SIDES; side++) {
		for (uint32_t i = 0; i < c->result.row_count; i++)
			put(d, rows[order[i]].sides[side].count);
		for (uint32_t i = 0; i < c->result.row_count; i++)
			put(d, whole(sqrt(rows[order[i]].sides[side].sampled)));
		for (uint32_t i = 0; i < c->result.row_count; i++)
			put(d, whole(sqrt(rows[order[i]].sides[side].measured)));
	}
}

/* ---- tables ---- */

static const char *const total_names[COMPARISON_TOTALS] = {
	[TOTAL_GPU] = "GPU time",
	[TOTAL_CPU] = "CPU time",
	[TOTAL_WAITING] = "waiting, and timed calls",
	[TOTAL_IDLE] = "idle GPUs",
	[TOTAL_API] = "time in CUDA calls",
	[TOTAL_WALL] = "time of the run",
	[TOTAL_PEAK] = "memory at the peak",
	[TOTAL_LEFT] = "memory never freed",
	[TOTAL_ERRORS] = "CUDA calls that failed"};

static void put_change(const struct data *d, const char *name, const struct change *change)
{
	put_text(d, name);
	put(d, change->unit);
	put(d, whole(change->before));
	put(d, whole(change->after));
	put(d, change->has_bound ? (uint64_t)fmin(ceil(change->bound), 1e18) + 1 : 0);
	put(d, change_verdict(change));
}

static void put_totals(const struct data *d)
{
	const struct change *totals = d->comparison->totals;

	put_text(d, "totals");
	put(d, COMPARISON_TOTALS);
	for (int i = 0; i < COMPARISON_TOTALS; i++)
		put_change(d, total_names[i], &totals[i]);
}

static void put_tables(const struct data *d)
{
	static const char *const keys[COMPARISON_TABLES] = {[COMPARED_CALLS] = "api_calls",
							    [COMPARED_SHAPES] = "launch_shapes",
							    [COMPARED_PEAK] = "memory",
							    [COMPARED_LEFT] = "never_freed",
							    [COMPARED_ERRORS] = "cuda_errors"};

	put(d, COMPARISON_TABLES - COMPARED_CALLS + 1);
	put_totals(d);
	for (int i = COMPARED_CALLS; i < COMPARISON_TABLES; i++) {
		const struct comparison_table *t = &d->comparison->tables[i];

		put_text(d, keys[i]);
		put(d, t->count);
		for (uint32_t at = 0; at < t->count; at++)
			put_change(d, t->entries[at].frame->short_name, &t->entries[at].change);
	}
}

static void put_variants_of(const struct data *d, const struct comparison_entry *e)
{
	const struct comparison_name *names = d->comparison->names;

	for (uint32_t at = e->names; at != COMPARISON_NONE; at = names[at].next) {
		put_text(d, e->frame->name);
		put_text(d, comparison_match_word(e->matched_by));
		put_text(d, names[at].frame->name);
		put(d, names[at].is_on[SIDE_BEFORE] + 2u * names[at].is_on[SIDE_AFTER]);
	}
}

static void put_variants(const struct data *d)
{
	const struct comparison_table *t = &d->comparison->tables[COMPARED_KERNELS];
	const struct comparison_name *names = d->comparison->names;
	uint64_t count = 0;

	for (uint32_t i = 0; i < t->count; i++)
		if (t->entries[i].matched_by != MATCHED_BY_NAME)
			for (uint32_t at = t->entries[i].names; at != COMPARISON_NONE;
			     at = names[at].next)
				count++;
	put(d, count);
	for (uint32_t i = 0; i < t->count; i++)
		if (t->entries[i].matched_by != MATCHED_BY_NAME)
			put_variants_of(d, &t->entries[i]);
}

void html_difference_put(const struct comparison *c, struct text_table *texts,
			 const uint32_t *order, struct deflated *out)
{
	const struct data data = {c, texts, out};
	enum comparison_total length;

	if (!c) {
		put(&data, 0);
		return;
	}
	for (int side = 0; side < SIDES; side++) {
		put(&data, c->runs[side]);
		put_text(&data, c->first[side]->command);
		put_text(&data, c->first[side]->shown);
	}
	put(&data, c->is_of_steps + 2u * c->is_normalized + 4u * (c->shown == SIDE_BEFORE));
	put_text(&data, comparison_differs_in_length(c, &length) ? total_names[length] : NULL);
	if (out)
		put_amounts(&data, order);
	put_variants(&data);
	put_tables(&data);
}
