// SPDX-License-Identifier: MIT
/*
 * Writes the sums and losses of a run as JSON for other programs: docs/summary-format.md
 * describes it. The file has all sums, not only the longest, and all counts of losses.
 */
#include "profiler/formats/writer.h"

#include <errno.h>
#include "profiler/findings/findings.h"
#include "profiler/formats/json.h"
#include "profiler/model/losses.h"
#include "profiler/model/work_names.h"
#include "profiler/tables/hot_spots.h"
#include "profiler/tables/kernel_class.h"
#include "profiler/tables/kernel_facts.h"
#include "profiler/findings/report_tables.h"
#include "profiler/tables/gpu_rows.h"

#define VERSION 1

static void begin_list(struct json *j, const char *key)
{
	json_break_line(j);
	json_open_array(j, key);
}

static void put_facts(struct json *j, const struct kernel_facts *facts,
		      const struct frame_info *frame)
{
	struct kernel_fact list[KERNEL_FACTS_MAX];
	uint32_t count = kernel_facts_of(facts, frame, list);

	for (uint32_t i = 0; i < count; i++)
		json_text(j, list[i].key, list[i].text);
}

/*
 * Writes a table. `count_key` is NULL if its rows have no count. Kernels of `r` have a class and
 * facts; NULL: there are none.
 */
static void put_table(struct json *j, const char *key, const char *count_key,
		      const struct hot_spot_table *table, const struct kernel_facts *facts,
		      const struct result *r)
{
	begin_list(j, key);
	for (uint32_t i = 0; i < table->count; i++) {
		const struct hot_spot *e = &table->list[i];

		json_open_line(j, NULL);
		json_text(j, "name", e->frame->name);
		json_text(j, "short_name", e->frame->short_name);
		json_text(j, "file", e->frame->file ? e->frame->file : e->frame->module);
		if (r)
			json_text(j, "class", kernel_class_of(r->kernel_classes, e->frame));
		if (count_key)
			json_uint(j, count_key, e->count);
		json_uint(j, "ns", e->ns);
		if (e->total_ns)
			json_uint(j, "total_ns", e->total_ns);
		if (e->bytes)
			json_uint(j, "bytes", e->bytes);
		put_facts(j, facts, e->frame);
		json_close_object(j);
	}
	json_close_array(j);
}

static void put_device(struct json *j, const struct gpu_work_row *row)
{
	char uuid[DEVICE_UUID_BYTES] = "";

	if (row->device) {
		json_uint(j, "device", row->device->number);
		device_uuid(row->device, uuid);
	}
	json_text(j, "gpu", row->label);
	if (uuid[0])
		json_text(j, "uuid", uuid);
}

static void put_work(struct json *j, const struct gpu_work_rows *rows)
{
	begin_list(j, "gpu_work");
	for (uint32_t i = 0; i < rows->count; i++) {
		const struct gpu_row *row = &rows->list[i].sum;

		json_open_line(j, NULL);
		put_device(j, &rows->list[i]);
		json_text(j, "kind", work_word(row->work));
		json_uint(j, "operations", row->count);
		json_uint(j, "ns", row->ns);
		json_uint(j, "bytes", row->bytes);
		json_uint(j, "unmatched", row->unmatched);
		json_uint(j, "unmatched_ns", row->unmatched_ns);
		json_uint(j, "without_times", row->bad_times);
		json_close_object(j);
	}
	json_close_array(j);
}

/* Writes how many launches have a stack, which is not all of them with --max-overhead. */
static void put_stacks(struct json *j, const struct totals *t)
{
	const struct ledger *l = t->ledger;

	if (!t->measure.max_overhead)
		return;
	json_open_line(j, "launch_stacks");
	json_uint(j, "limit_millipercent", t->measure.max_overhead);
	json_uint(j, "launches_with_stack", l->launches.with_stack);
	json_uint(j, "launches_without_stack", l->launches.skipped);
	json_uint(j, "spread_operations", l->spread.operations);
	json_uint(j, "spread_ns", l->spread.ns);
	json_uint(j, "borrowed_ns", l->spread.borrowed_ns);
	json_uint(j, "not_sampled_ns", l->spread.left_ns);
	json_uint(j, "standard_error_ns", l->spread.error_ns);
	json_close_object(j);
}

static void put_totals(struct json *j, const uint64_t totals[ROW_KINDS], const struct hot_spots *d,
		       const struct ledger *l)
{
	json_open_line(j, "totals");
	json_uint(j, "cpu_ns", totals[ROW_CPU]);
	json_uint(j, "cpu_samples", d->functions.whole.count);
	json_uint(j, "cpu_not_sampled_ns", l->cpu.not_sampled_ns);
	json_uint(j, "gpu_ns", totals[ROW_GPU]);
	json_uint(j, "gpu_kernels", d->kernels.whole.count);
	json_uint(j, "gpu_other_operations", d->copies.whole.count);
	json_uint(j, "waiting_ns", totals[ROW_WAIT]);
	json_uint(j, "timed_calls_ns", totals[ROW_CALL]);
	json_uint(j, "gpu_idle_ns", totals[ROW_IDLE]);
	json_close_object(j);
}

static void put_loss(void *context, const char *name, const char *text, uint64_t count)
{
	(void)text;
	json_uint(context, name, count);
}

static void put_losses(struct json *j, const struct ledger *l, uint64_t not_kept)
{
	json_open_line(j, "losses");
	losses_visit_keys(l, not_kept, put_loss, j);
	json_uint(j, "timeline_records_lost", l->timeline.lost);
	json_close_object(j);
}

static void put_run(struct json *j, const struct totals *t)
{
	json_text(j, "format", "profile summary");
	json_uint(j, "version", VERSION);
	json_text(j, "command", t->command);
	json_text(j, "shown", t->shown);
	json_uint(j, "started_unix_ns", t->start_unix_ns);
	json_uint(j, "elapsed_ns", t->elapsed_ns);
	json_uint(j, "command_cpu_ns", t->command_cpu_ns);
	json_uint(j, "processes_cpu_ns", t->ledger->cpu.used_ns);
	json_uint(j, "profiler_cpu_ns", t->own_cpu_ns);
	json_uint(j, "sample_ns", t->sample_ns);
	json_uint(j, "library_cpu_ns", t->ledger->cost.program_ns);
	json_uint(j, "kernel_cpu_ns", t->ledger->cost.kernel_ns);
	json_uint(j, "profiler_memory_bytes", t->own_memory_bytes);
	json_uint(j, "pipe_bytes", t->ledger->cost.pipe_bytes);
}

static void put_report_cell(struct json *j, const struct result *r,
			    const struct report_column *column, union report_cell cell)
{
	if (column->kind == REPORT_CELL_FRAME)
		json_text(j, column->key, r->frames[cell.number].name);
	else if (report_cell_is_text(column->kind))
		json_text(j, column->key, cell.text);
	else if (column->kind == REPORT_CELL_NUMBER) {
		json_real(j, column->key, cell.real);
	} else
		json_uint(j, column->key, cell.number);
}

/* Writes the requested tables, each as a list of objects with the keys of its columns. */
static int put_report_table(struct json *j, const struct result *r)
{
	struct report_tables list;
	int err = report_tables_of(r, &list);

	for (uint32_t t = 0; t < list.count; t++) {
		const struct report_table *f = list.tables[t];

		begin_list(j, f->key);
		for (uint32_t i = 0; i < f->count; i++) {
			json_open_line(j, NULL);
			for (uint32_t c = 0; c < f->column_count; c++)
				put_report_cell(j, r, &f->columns[c], report_table_row(f, i)[c]);
			json_close_object(j);
		}
		json_close_array(j);
	}
	for (uint32_t t = 0; t < list.count; t++) {
		char key[64];

		snprintf(key, sizeof(key), "%s_left_out", list.tables[t]->key);
		json_uint(j, key, list.tables[t]->left_out);
	}
	report_tables_release(&list);
	return err;
}

/* Writes what limits the run, and how much of which time. */
static void put_verdict(struct json *j, const struct findings *findings)
{
	const struct verdict *v;

	if (!findings)
		return;
	v = &findings->verdict;
	json_open_line(j, "verdict");
	json_text(j, "limit", findings->unknown ? "unknown" : verdict_word(v));
	json_text(j, "why_unknown", findings->unknown);
	if (!findings->unknown) {
		json_uint(j, "ns", v->ns);
		json_uint(j, "of_ns", v->of_ns);
	}
	json_close_object(j);
}

static int write_summary(const struct result *result, const struct writer_options *options,
			 FILE *out, struct written *written)
{
	struct hot_spots *d = hot_spots_new(result);
	struct kernel_facts *facts = kernel_facts_new(result);
	struct json j = json_begin(out);
	struct gpu_work_rows rows;
	int err;

	(void)options;
	*written = written_in_ns(result);
	if (!gpu_work_rows_init(&rows, &result->totals.ledger->gpu, result->device_names) || !d ||
	    !facts) {
		gpu_work_rows_release(&rows);
		kernel_facts_free(facts);
		hot_spots_free(d);
		return -ENOMEM;
	}
	written->items = (uint64_t)d->kernels.count + d->copies.count + d->sites.count +
			 d->functions.count + d->waits.count;
	json_open_object(&j, NULL);
	put_run(&j, &result->totals);
	put_totals(&j, written->total, d, result->totals.ledger);
	put_stacks(&j, &result->totals);
	put_work(&j, &rows);
	put_table(&j, "kernels", "calls", &d->kernels, facts, result);
	put_table(&j, "other_gpu_work", "operations", &d->copies, facts, NULL);
	put_table(&j, "launch_sites", "operations", &d->sites, facts, NULL);
	put_table(&j, "functions", "samples", &d->functions, facts, NULL);
	put_table(&j, "waits", NULL, &d->waits, facts, NULL);
	put_verdict(&j, result->findings);
	err = put_report_table(&j, result);
	put_losses(&j, result->totals.ledger, result->unnamed.not_kept);
	json_close_object(&j);
	json_end(&j);
	gpu_work_rows_release(&rows);
	kernel_facts_free(facts);
	hot_spots_free(d);
	return err ? err : ferror(out) ? -EIO : 0;
}

const struct writer json_summary_writer = {.name = "json",
					   .suffix = ".json",
					   .has_both_names = true,
					   .needs = USES_TIMELINE,
					   .shows_findings = true,
					   .item = "row",
					   .write = write_summary};
