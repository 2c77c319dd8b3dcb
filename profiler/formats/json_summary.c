// SPDX-License-Identifier: MIT
/*
 * The run as data for other programs: docs/summary-format.md describes it. All sums of the report,
 * not only the longest, and all counts of losses.
 */
#include "profiler/formats/writer.h"

#include <errno.h>
#include "profiler/formats/json.h"
#include "profiler/model/losses.h"
#include "profiler/model/work_names.h"
#include "profiler/tables/digest.h"
#include "profiler/tables/figures_list.h"
#include "profiler/tables/gpu_rows.h"

#define VERSION 1

static void put_number(struct json *j, const char *key, uint64_t value)
{
	json_key(j, key);
	json_uint(j, value);
}

static void put_text(struct json *j, const char *key, const char *text)
{
	if (!text)
		return;
	json_key(j, key);
	json_text(j, text);
}

static void begin_list(struct json *j, const char *key)
{
	json_break_line(j);
	json_key(j, key);
	json_open_array(j);
}

/* `count_key`: NULL, where a row is no thing that can be counted. */
static void put_table(struct json *j, const char *key, const char *count_key,
		      const struct digest_table *table)
{
	begin_list(j, key);
	for (uint32_t i = 0; i < table->count; i++) {
		const struct digest_entry *e = &table->list[i];

		json_break_line(j);
		json_open_object(j);
		put_text(j, "name", e->frame->name);
		put_text(j, "short_name", e->frame->short_name);
		put_text(j, "file", e->frame->file ? e->frame->file : e->frame->module);
		if (count_key)
			put_number(j, count_key, e->count);
		put_number(j, "ns", e->ns);
		if (e->total_ns)
			put_number(j, "total_ns", e->total_ns);
		if (e->bytes)
			put_number(j, "bytes", e->bytes);
		json_close_object(j);
	}
	json_close_array(j);
}

static void put_device(struct json *j, const struct gpu_work_row *row)
{
	char uuid[DEVICE_UUID_BYTES] = "";

	if (row->device) {
		put_number(j, "device", row->device->number);
		device_uuid(row->device, uuid);
	}
	put_text(j, "gpu", row->label);
	if (uuid[0])
		put_text(j, "uuid", uuid);
}

static void put_work(struct json *j, const struct gpu_work_rows *rows)
{
	begin_list(j, "gpu_work");
	for (uint32_t i = 0; i < rows->count; i++) {
		const struct gpu_row *row = &rows->list[i].sum;

		json_break_line(j);
		json_open_object(j);
		put_device(j, &rows->list[i]);
		put_text(j, "kind", work_word(row->work));
		put_number(j, "operations", row->count);
		put_number(j, "ns", row->ns);
		put_number(j, "bytes", row->bytes);
		put_number(j, "unmatched", row->unmatched);
		put_number(j, "unmatched_ns", row->unmatched_ns);
		put_number(j, "without_times", row->bad_times);
		json_close_object(j);
	}
	json_close_array(j);
}

/* Only where launches may have none of their own: --max-overhead. */
static void put_stacks(struct json *j, const struct totals *t)
{
	const struct ledger *l = t->ledger;

	if (!t->measure.max_overhead)
		return;
	json_break_line(j);
	json_key(j, "launch_stacks");
	json_open_object(j);
	put_number(j, "limit_millipercent", t->measure.max_overhead);
	put_number(j, "launches_with_stack", l->launches.with_stack);
	put_number(j, "launches_without_stack", l->launches.skipped);
	put_number(j, "spread_operations", l->spread.operations);
	put_number(j, "spread_ns", l->spread.ns);
	put_number(j, "borrowed_ns", l->spread.borrowed_ns);
	put_number(j, "not_sampled_ns", l->spread.left_ns);
	put_number(j, "standard_error_ns", l->spread.error_ns);
	json_close_object(j);
}

static void put_totals(struct json *j, const uint64_t totals[ROW_KINDS], const struct digest *d,
		       const struct ledger *l)
{
	json_break_line(j);
	json_key(j, "totals");
	json_open_object(j);
	put_number(j, "cpu_ns", totals[ROW_CPU]);
	put_number(j, "cpu_samples", d->functions.whole.count);
	put_number(j, "cpu_not_sampled_ns", l->cpu.not_sampled_ns);
	put_number(j, "gpu_ns", totals[ROW_GPU]);
	put_number(j, "gpu_kernels", d->kernels.whole.count);
	put_number(j, "gpu_other_operations", d->copies.whole.count);
	put_number(j, "waiting_ns", totals[ROW_WAIT]);
	put_number(j, "timed_calls_ns", totals[ROW_CALL]);
	put_number(j, "gpu_idle_ns", totals[ROW_IDLE]);
	json_close_object(j);
}

static void put_loss(void *context, const char *name, const char *text, uint64_t count)
{
	(void)text;
	put_number(context, name, count);
}

static void put_losses(struct json *j, const struct ledger *l, uint64_t not_kept)
{
	json_break_line(j);
	json_key(j, "losses");
	json_open_object(j);
	losses_visit_keys(l, not_kept, put_loss, j);
	put_number(j, "timeline_records_lost", l->timeline.lost);
	json_close_object(j);
}

static void put_run(struct json *j, const struct totals *t)
{
	put_text(j, "format", "profile summary");
	put_number(j, "version", VERSION);
	put_text(j, "command", t->command);
	if (t->shown)
		put_text(j, "shown", t->shown);
	put_number(j, "started_unix_ns", t->start_unix_ns);
	put_number(j, "elapsed_ns", t->elapsed_ns);
	put_number(j, "command_cpu_ns", t->command_cpu_ns);
	put_number(j, "processes_cpu_ns", t->ledger->cpu.used_ns);
	put_number(j, "profiler_cpu_ns", t->own_cpu_ns);
	put_number(j, "sample_ns", t->sample_ns);
	put_number(j, "library_cpu_ns", t->ledger->cost.program_ns);
	put_number(j, "kernel_cpu_ns", t->ledger->cost.kernel_ns);
	put_number(j, "profiler_memory_bytes", t->own_memory_bytes);
	put_number(j, "pipe_bytes", t->ledger->cost.pipe_bytes);
}

static void put_figure(struct json *j, const struct result *r, const struct figure_column *column,
		       union figure cell)
{
	if (column->kind == FIGURE_FRAME)
		put_text(j, column->key, r->frames[cell.number].name);
	else if (figure_is_text(column->kind))
		put_text(j, column->key, cell.text);
	else if (column->kind == FIGURE_NUMBER) {
		json_key(j, column->key);
		json_real(j, cell.real);
	} else
		put_number(j, column->key, cell.number);
}

/* The tables that were asked for: each a list of objects by its columns' keys. */
static int put_figures(struct json *j, const struct result *r)
{
	struct figures_list list;
	int err = figures_of(r, &list);

	for (uint32_t t = 0; t < list.count; t++) {
		const struct figures *f = list.tables[t];

		begin_list(j, f->key);
		for (uint32_t i = 0; i < f->count; i++) {
			json_break_line(j);
			json_open_object(j);
			for (uint32_t c = 0; c < f->column_count; c++)
				put_figure(j, r, &f->columns[c], figures_row(f, i)[c]);
			json_close_object(j);
		}
		json_close_array(j);
	}
	for (uint32_t t = 0; t < list.count; t++) {
		char key[64];

		snprintf(key, sizeof(key), "%s_left_out", list.tables[t]->key);
		put_number(j, key, list.tables[t]->left_out);
	}
	figures_release(&list);
	return err;
}

static int write_summary(const struct result *result, const struct writer_options *options,
			 FILE *out, struct written *written)
{
	struct digest *d = digest_new(result);
	struct json j = json_begin(out);
	struct gpu_work_rows rows;
	int err;

	(void)options;
	*written = written_in_ns(result);
	if (!gpu_work_rows_init(&rows, &result->totals.ledger->gpu, result->device_names) || !d) {
		gpu_work_rows_release(&rows);
		digest_free(d);
		return -ENOMEM;
	}
	written->items = (uint64_t)d->kernels.count + d->copies.count + d->sites.count +
			 d->functions.count + d->waits.count;
	json_open_object(&j);
	put_run(&j, &result->totals);
	put_totals(&j, written->total, d, result->totals.ledger);
	put_stacks(&j, &result->totals);
	put_work(&j, &rows);
	put_table(&j, "kernels", "calls", &d->kernels);
	put_table(&j, "other_gpu_work", "operations", &d->copies);
	put_table(&j, "launch_sites", "operations", &d->sites);
	put_table(&j, "functions", "samples", &d->functions);
	put_table(&j, "waits", NULL, &d->waits);
	err = put_figures(&j, result);
	put_losses(&j, result->totals.ledger, result->unnamed.not_kept);
	json_close_object(&j);
	json_end(&j);
	gpu_work_rows_release(&rows);
	digest_free(d);
	return err ? err : ferror(out) ? -EIO : 0;
}

const struct writer json_summary_writer = {.name = "json",
					   .suffix = ".json",
					   .has_both_names = true,
					   .item = "row",
					   .write = write_summary};
