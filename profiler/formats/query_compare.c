// SPDX-License-Identifier: MIT
#include "profiler/formats/query_private.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include "profiler/model/quantity.h"
#include "profiler/tables/comparison.h"
#include "symbolize/util/sorted.h"

#define NUMBER_MAX 9e18 /* a bound may exceed the sum of all times */

/* An entry of a table, for sorting by importance. */
struct changed {
	const struct comparison_entry *entry;
	enum comparison_tables table;
};

static int by_importance(const void *a, const void *b)
{
	const struct changed *x = a, *y = b;
	const struct change *one = &x->entry->change, *two = &y->entry->change;
	double size_one = fabs(change_difference(one)), size_two = fabs(change_difference(two));
	int order = compare_numbers(two->is_significant, one->is_significant);

	/* bytes and errors are no times: they come behind them */
	order = order ? order : compare_numbers(one->unit, two->unit);
	order = order ? order : (size_two > size_one) - (size_two < size_one);
	order = order ? order : compare_numbers(x->table, y->table);
	return order ? order : compare_numbers((uintptr_t)x->entry, (uintptr_t)y->entry);
}

static void put_number(struct json *j, const char *key, double value)
{
	json_int(j, key, (int64_t)round(fmax(-NUMBER_MAX, fmin(value, NUMBER_MAX))));
}

static void put_change(struct json *j, const struct change *change)
{
	put_number(j, "before", change->before);
	put_number(j, "after", change->after);
	/* exactly the difference of the two rounded numbers above */
	put_number(j, "difference", round(change->after) - round(change->before));
	if (change->has_bound)
		put_number(j, "bound", ceil(change->bound));
	json_text(j, "verdict", change_verdict_word(change_verdict(change)));
}

static const char *unit_word(enum change_unit unit)
{
	return unit == CHANGE_OF_TIME ? "ns" : unit == CHANGE_OF_BYTES ? "bytes" : "errors";
}

/* Lists all entries that differ, the most important first. Returns NULL if out of memory. */
static struct changed *list_changes(const struct comparison *c, uint32_t *count)
{
	size_t all = 0;
	struct changed *list;

	for (int t = 0; t < COMPARISON_TABLES; t++)
		all += c->tables[t].count;
	list = calloc(all + 1, sizeof(*list));
	*count = 0;
	for (int t = 0; list && t < COMPARISON_TABLES; t++)
		for (uint32_t i = 0; i < c->tables[t].count; i++)
			if (change_verdict(&c->tables[t].entries[i].change) != CHANGED_NOT)
				list[(*count)++] = (struct changed){&c->tables[t].entries[i],
								    (enum comparison_tables)t};
	if (list)
		qsort(list, *count, sizeof(*list), by_importance);
	return list;
}

/* Adds the command that compares both runs, for a kernel alone if the row is one. */
static void look_at_change(struct answer *a, const struct query_input *in,
			   const struct changed *changed)
{
	char *pattern = changed->table == COMPARED_KERNELS
				? query_pattern(changed->entry->frame->name)
				: NULL;

	if (pattern)
		answer_look(a, "--kernel", pattern, false, "after.html");
	else
		answer_look(a, "--baseline", in->other, false, "after.html");
	free(pattern);
}

static void put_changes(struct answer *a, const struct query_input *in, const struct changed *list,
			uint32_t count)
{
	static const char *const tables[COMPARISON_TABLES] = {
		[COMPARED_KERNELS] = "kernels",
		[COMPARED_COPIES] = "other_gpu_work",
		[COMPARED_SITES] = "launch_sites",
		[COMPARED_FUNCTIONS] = "functions",
		[COMPARED_WAITS] = "waits",
		[COMPARED_CALLS] = "cuda_calls",
		[COMPARED_SHAPES] = "launch_shapes",
		[COMPARED_PEAK] = "memory_at_the_peak",
		[COMPARED_LEFT] = "memory_never_freed",
		[COMPARED_ERRORS] = "cuda_errors"};
	struct json *j;

	for (uint32_t i = 0; i < count; i++) {
		const struct comparison_entry *e = list[i].entry;

		if (!(j = answer_row(a))) {
			answer_leave_out(a, count - i);
			break;
		}
		json_text(j, "table", tables[list[i].table]);
		query_put_frame(a, e->frame);
		json_text(j, "unit", unit_word(e->change.unit));
		put_change(j, &e->change);
		look_at_change(a, in, &list[i]);
		answer_end_row(a);
	}
}

static void sum_up(struct answer *a, const struct comparison *c, uint32_t significant)
{
	const struct change *gpu = &c->totals[TOTAL_GPU], *wall = &c->totals[TOTAL_WALL];
	char before[2][QUANTITY_BYTES], after[2][QUANTITY_BYTES];

	answer_say(a,
		   "The run took %s before and %s after; GPU work %s before and %s after. %u row%s "
		   "changed beyond noise.",
		   time_text(before[0], wall->before), time_text(after[0], wall->after),
		   time_text(before[1], gpu->before), time_text(after[1], gpu->after), significant,
		   significant == 1 ? "" : "s");
	for (int i = 0; i < COMPARISON_TOTALS; i++) {
		json_open_object(answer_sums(a), comparison_total_word((enum comparison_total)i));
		put_change(answer_sums(a), &c->totals[i]);
		json_close_object(answer_sums(a));
	}
}

int query_answer_compare(struct answer *a, const struct query_input *in, const char *argument)
{
	struct changed *list;
	uint32_t count, significant = 0;

	(void)argument;
	if (!in->comparison)
		return -EINVAL;
	list = list_changes(in->comparison, &count);
	if (!list)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		significant += list[i].entry->change.is_significant;
	sum_up(a, in->comparison, significant);
	put_changes(a, in, list, count);
	free(list);
	return 0;
}
