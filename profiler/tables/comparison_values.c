// SPDX-License-Identifier: MIT
#include "profiler/tables/comparison_private.h"

#include <stdlib.h>
#include "profiler/tables/hot_spots.h"

static struct run_values no_values(const struct comparison *c)
{
	return (struct run_values){.runs = {c->runs[SIDE_BEFORE], c->runs[SIDE_AFTER]}};
}

/* Returns amounts of one item, stored in `v`. */
static struct amounts sum_in(struct run_values *v, const struct made_comparison *made)
{
	return (struct amounts){.run_count = made->run_count,
				.count = 1,
				.capacity = 1,
				.values = v->values,
				.sides = v->sides};
}

struct run_values comparison_total(const struct comparison *comparison, enum comparison_total total)
{
	const struct made_comparison *made = (const void *)comparison;
	struct run_values v = no_values(comparison);
	struct amounts sum = sum_in(&v, made);

	v.is_one_value = total == TOTAL_WALL;
	if (total != TOTAL_CPU || !made->has_charged_cpu) {
		amounts_move(&sum, 0, &made->totals, total);
		return v;
	}
	v.is_one_value = true;
	for (uint32_t i = 0; i < made->run_count; i++)
		v.values[i] = made->runs[i].charged_cpu;
	return v;
}

/*
 * Turns sums of samples into shares of the charged time. Their variance is that of a share: a
 * function with all samples has all the time.
 */
static void charge(const struct made_comparison *made, struct run_values *v)
{
	double part[SIDES] = {0}, whole[SIDES] = {0};

	if (!made->has_charged_cpu || made->comparison.is_normalized)
		return;
	for (uint32_t i = 0; i < made->run_count; i++) {
		const struct compared_run *run = &made->runs[i];
		double sampled = amounts_values(&made->totals, TOTAL_CPU)[i];

		v->values[i] *= sampled > 0 ? run->charged_cpu / sampled : 1;
		part[run->side] += v->values[i];
		whole[run->side] += run->charged_cpu;
	}
	for (int side = 0; side < SIDES; side++)
		v->sides[side].sampled *=
			part[side] < whole[side] ? 1 - part[side] / whole[side] : 0;
}

static bool matches(const regex_t *pattern, const struct frame_info *frame)
{
	return regexec(pattern, frame->name, 0, NULL, 0) == 0;
}

uint32_t comparison_matching(const struct comparison *comparison, enum comparison_tables table,
			     const regex_t *pattern, struct run_values *v)
{
	const struct made_comparison *made = (const void *)comparison;
	const struct comparison_table *t = &comparison->tables[table];
	const struct making_table *making = &made->tables[table];
	struct amounts sum = sum_in(v, made);
	uint32_t found = 0;

	*v = no_values(comparison);
	for (uint32_t i = 0; i < t->count; i++) {
		const struct comparison_entry *e = &t->entries[i];
		bool is_found = matches(pattern, e->frame);

		for (uint32_t n = e->names; n != COMPARISON_NONE && !is_found;
		     n = comparison->names[n].next)
			is_found = matches(pattern, comparison->names[n].frame);
		if (!is_found)
			continue;
		amounts_move(&sum, 0, &making->amounts, making->order[i]);
		found++;
	}
	if (table == COMPARED_FUNCTIONS)
		charge(made, v);
	return found;
}

enum frame_match { MATCH_UNKNOWN, MATCHES_NOT, MATCHES_PATTERN };

/* Returns true if the innermost frame, or a function around it, matches. */
static bool has_match(const struct result *r, uint32_t stack, const unsigned char *found)
{
	bool is_innermost = true;

	for (; stack != RESULT_ROOT; stack = r->stacks[stack].outer, is_innermost = false) {
		uint32_t frame = r->stacks[stack].frame;

		if (found[frame] == MATCHES_PATTERN &&
		    (is_innermost || hot_spots_is_function(&r->frames[frame])))
			return true;
	}
	return false;
}

static int add_matching_stacks(struct made_comparison *made, struct amounts *sum,
			       const regex_t *pattern, const struct compared_run *run)
{
	const struct result *r = run->result;
	const double sample = (double)r->totals.sample_ns;
	const struct duration_spreads spreads = {.sample = sample * sample};
	unsigned char *found = calloc(r->frame_count + 1u, sizeof(*found));

	if (!found)
		return -ENOMEM;
	for (uint32_t i = RESULT_ROOT + 1; i < r->stack_count; i++) {
		uint32_t frame = r->stacks[i].frame;

		if (found[frame] == MATCH_UNKNOWN)
			found[frame] = matches(pattern, unnamed_files_frame(&made->unnamed,
									    &r->frames[frame]))
					       ? MATCHES_PATTERN
					       : MATCHES_NOT;
	}
	for (uint32_t i = 0; i < r->row_count; i++) {
		const struct row *row = &r->rows[i];
		struct amount amount;

		if (row->kind != ROW_CPU ||
		    !has_match(r, result_computing_stack(r, row->stack), found))
			continue;
		amount = comparison_scaled(comparison_amount(made, &spreads, row), run, TOTAL_CPU);
		comparison_add(made, sum, 0, run, &amount);
	}
	free(found);
	return 0;
}

int comparison_matching_totals(const struct comparison *comparison, const regex_t *pattern,
			       uint32_t *found, struct run_values *v)
{
	struct made_comparison *made = (void *)comparison;
	const struct result *all = &comparison->result;
	struct amounts sum = sum_in(v, made);
	int error = 0;

	*v = no_values(comparison);
	*found = 0;
	for (uint32_t i = 0; i < all->frame_count; i++)
		*found +=
			hot_spots_is_function(&all->frames[i]) && matches(pattern, &all->frames[i]);
	for (uint32_t i = 0; i < made->run_count && !error; i++)
		error = add_matching_stacks(made, &sum, pattern, &made->runs[i]);
	charge(made, v);
	return error;
}
