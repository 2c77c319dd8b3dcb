// SPDX-License-Identifier: MIT
#include "profiler/formats/query_private.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/model/quantity.h"
#include "profiler/tables/work_parts.h"
#include "symbolize/util/saturate.h"

/* Columns by which all these tables begin; the last one is the name. */
enum { COLUMN_NS, COLUMN_SHARE };

static const char *row_name(const struct report_table *f, uint32_t row)
{
	return report_table_row(f, row)[f->column_count - 1].text;
}

/* Returns all GPU time: a table may have left some of it out. */
static uint64_t gpu_ns(const struct result *r)
{
	uint64_t ns = 0;

	for (uint32_t i = 0; i < r->row_count; i++)
		if (r->rows[i].kind == ROW_GPU)
			saturated_add(&ns, r->rows[i].ns);
	return ns;
}

/* Says how much GPU time there is, and what has most of it; or `none`. */
static void sum_up(struct answer *a, const struct result *r, const struct report_table *f,
		   const char *what, const char *none)
{
	char all[QUANTITY_BYTES], most[QUANTITY_BYTES];
	uint64_t ns = gpu_ns(r);

	if (f->count)
		answer_say(a, "%s: %s. Most, %s (%.1f %%), is of %.*s.", what,
			   time_text(all, (double)ns),
			   time_text(most, (double)report_table_row(f, 0)[COLUMN_NS].number),
			   (double)report_table_row(f, 0)[COLUMN_SHARE].number / 10,
			   (int)ANSWER_TEXT_BYTES, row_name(f, 0));
	else
		answer_say(a, "%s", none);
	json_uint(answer_sums(a), f->key, f->count + f->left_out);
	json_uint(answer_sums(a), "ns", ns);
}

static void look_at_class(struct answer *a, const struct report_table *f, uint32_t row)
{
	(void)f;
	(void)row;
	answer_look(a, "--by", "class", false, "classes.svg");
}

/* Adds the command that shows the stacks inside an operator or a layer. */
static void look_inside(struct answer *a, const struct report_table *f, uint32_t row)
{
	char *pattern = query_pattern(row_name(f, row));

	if (pattern && strncmp(row_name(f, row), "[no ", 4) != 0)
		answer_look(a, "--under", pattern, false, "inside.svg");
	free(pattern);
}

static void look_at_kinds(struct answer *a, const struct report_table *f, uint32_t row)
{
	(void)f;
	(void)row;
	answer_look(a, "--by", "layer-kind", false, "layers.svg");
}

int query_answer_classes(struct answer *a, const struct query_input *in, const char *argument)
{
	struct report_table *f = kernel_classes_report_table(in->result);

	(void)argument;
	if (!f)
		return -ENOMEM;
	sum_up(a, in->result, f, "GPU work by class", "No GPU work was recorded.");
	query_put_table(a, in->result, f, look_at_class);
	report_table_free(f);
	return 0;
}

int query_answer_operators(struct answer *a, const struct query_input *in, const char *argument)
{
	struct report_table *f = operators_report_table(in->result);

	(void)argument;
	if (!f)
		return -ENOMEM;
	sum_up(a, in->result, f, "GPU work by operator",
	       "No operator is in the profile: run with --ops.");
	query_put_table(a, in->result, f, look_inside);
	report_table_free(f);
	return 0;
}

/* Kinds come first: they are fewer. */
int query_answer_layers(struct answer *a, const struct query_input *in, const char *argument)
{
	struct report_table *kinds = layer_kinds_report_table(in->result);
	struct report_table *layers = kinds ? layers_report_table(in->result) : NULL;
	int err = layers ? 0 : -ENOMEM;

	(void)argument;
	if (!err) {
		sum_up(a, in->result, kinds, "GPU work by kind of layer",
		       "No layer is in the profile: run with --modules.");
		json_uint(answer_sums(a), layers->key, layers->count + layers->left_out);
		query_put_table(a, in->result, kinds, look_at_kinds);
		query_put_table(a, in->result, layers, look_inside);
	}
	report_table_free(kinds);
	report_table_free(layers);
	return err;
}
