// SPDX-License-Identifier: MIT
/*
 * Writes a comparison as JSON for other programs: docs/diff-format.md describes it. The file has
 * all entries, not only those that changed most.
 */
#include "profiler/formats/writer.h"

#include <errno.h>
#include <math.h>
#include "profiler/formats/json.h"
#include "profiler/tables/comparison.h"

#define VERSION 2

#define NUMBER_MAX 9e18 /* a noise bound may exceed the sum of all times */

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
	if (change->has_bound) {
		put_number(j, "bound", ceil(change->bound));
		json_real(j, "p", change->p);
		json_real(j, "q", change->q);
	}
	json_bool(j, "significant", change->is_significant);
}

static void put_counts(struct json *j, const struct change *change)
{
	json_uint(j, "count_before", change->count[SIDE_BEFORE]);
	json_uint(j, "count_after", change->count[SIDE_AFTER]);
}

static void put_side(struct json *j, const char *key, const struct comparison *c,
		     enum comparison_side side)
{
	json_open_line(j, key);
	json_text(j, "command", c->first[side]->command);
	json_text(j, "shown", c->first[side]->shown);
	json_uint(j, "runs", c->runs[side]);
	if (c->sm_mhz[side] > 0)
		json_real(j, "sm_mhz", c->sm_mhz[side]);
	json_close_object(j);
}

static void put_totals(struct json *j, const struct comparison *c)
{
	json_open_line(j, "totals");
	for (int i = 0; i < COMPARISON_TOTALS; i++) {
		json_open_line(j, comparison_total_word((enum comparison_total)i));
		put_change(j, &c->totals[i]);
		put_counts(j, &c->totals[i]);
		json_close_object(j);
	}
	json_close_object(j);
}

/* Writes all names that an entry stands for on one side. */
static void put_names(struct json *j, const char *key, const struct comparison *c,
		      const struct comparison_entry *e, enum comparison_side side)
{
	json_open_array(j, key);
	for (uint32_t at = e->names; at != COMPARISON_NONE; at = c->names[at].next)
		if (c->names[at].is_on[side])
			json_text(j, NULL, c->names[at].frame->name);
	json_close_array(j);
}

static void put_entry(struct json *j, const struct comparison *c, const struct comparison_entry *e)
{
	bool is_on_both = e->is_on[SIDE_BEFORE] && e->is_on[SIDE_AFTER];

	json_open_line(j, NULL);
	json_text(j, "name", e->frame->name);
	json_text(j, "short_name", e->frame->short_name);
	json_text(j, "file", e->frame->file ? e->frame->file : e->frame->module);
	put_change(j, &e->change);
	put_counts(j, &e->change);
	json_text(j, "matched_by",
		  is_on_both              ? comparison_match_word(e->matched_by)
		  : e->is_on[SIDE_BEFORE] ? "gone"
					  : "new");
	if (e->matched_by != MATCHED_BY_NAME) {
		put_names(j, "names_before", c, e, SIDE_BEFORE);
		put_names(j, "names_after", c, e, SIDE_AFTER);
	}
	json_close_object(j);
}

static int write_difference(const struct result *result, const struct writer_options *options,
			    FILE *out, struct written *written)
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
	const struct comparison *c = options->comparison;
	struct json j = json_begin(out);

	*written = written_in_ns(result);
	json_open_object(&j, NULL);
	json_text(&j, "format", "profile difference");
	json_uint(&j, "version", VERSION);
	json_text(&j, "unit", c->is_weights ? "weight" : "ns");
	json_bool(&j, "normalized", c->is_normalized);
	put_side(&j, "before", c, SIDE_BEFORE);
	put_side(&j, "after", c, SIDE_AFTER);
	put_totals(&j, c);
	for (int i = 0; i < COMPARISON_TABLES; i++) {
		json_break_line(&j);
		json_open_array(&j, tables[i]);
		written->items += c->tables[i].count;
		for (uint32_t at = 0; at < c->tables[i].count; at++)
			put_entry(&j, c, &c->tables[i].entries[at]);
		json_close_array(&j);
	}
	json_close_object(&j);
	json_end(&j);
	return ferror(out) ? -EIO : 0;
}

const struct writer json_difference_writer = {
	.name = "json", .suffix = ".json", .item = "row", .write = write_difference};
