// SPDX-License-Identifier: MIT
#include "profiler/report/gpu_table.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/model/work_names.h"
#include "profiler/model/quantity.h"
#include "profiler/tables/gpu_rows.h"
#include "symbolize/util/text.h"

#define DEVICE_LINES_MAX 64

/* ---- the table ---- */

#define NOTES_BYTES 400 /* five notes of at most 80 bytes */

/* Appends "  3 unmatched (1.500 ms)". */
static void add_note(char notes[NOTES_BYTES], uint64_t count, const char *what, const uint64_t *ns)
{
	if (count)
		append_text(notes, NOTES_BYTES, "  %" PRIu64 " %s", count, what);
	if (count && ns)
		append_text(notes, NOTES_BYTES, " (%.3f ms)", (double)*ns / 1e6);
}

static void report_row(struct log *log, const struct gpu_work_row *shown, int width)
{
	char time[32] = "", bytes[32] = "", line[800];
	const struct gpu_row *row = &shown->sum;
	unsigned int work = row->work;
	bool has_time = !gpu_work_is_instant(work);
	char notes[NOTES_BYTES] = "";
	int n;

	if (work == GPU_WORK_UVM_GPU_FAULTS)
		snprintf(bytes, sizeof(bytes), "%" PRIu64 " faults", row->bytes);
	else if (row->bytes)
		bytes_text(bytes, row->bytes);
	if (has_time && !gpu_work_has_no_launch(work))
		add_note(notes, row->unmatched, "unmatched", &row->unmatched_ns);
	if (gpu_work_is_stall(work))
		add_note(notes, row->count, "stalls, already in the time of kernels", NULL);
	add_note(notes, row->bad_times, "without times", NULL);
	add_note(notes, row->staged, "between GPUs, through host memory", NULL);
	add_note(notes, row->before, "before tracing", has_time ? &row->before_ns : NULL);
	add_note(notes, row->after, "after tracing", has_time ? &row->after_ns : NULL);
	if (has_time)
		snprintf(time, sizeof(time), "%.3f ms", (double)row->ns / 1e6);
	n = snprintf(line, sizeof(line), "  %-*s  %-15s %9" PRIu64 " %15s  %12s%s", width,
		     shown->label, work_word(work), row->count, time, bytes, notes);
	while (n > 0 && n < (int)sizeof(line) && line[n - 1] == ' ')
		line[--n] = '\0';
	log_line(log, "%s", line);
}

static void report_check(struct log *log, const struct ledger_gpu *gpu)
{
	const struct work_sum *theirs = &gpu->difference, *here = &gpu->difference_here;

	if (gpu->sums && gpu->equal == gpu->sums)
		log_line(log, "  CUPTI's own sums: %" PRIu64 " of %" PRIu64 " match%s", gpu->equal,
			 gpu->sums, gpu->unreported ? ", of those reported" : "");
	else if (gpu->sums)
		log_line(log,
			 "  CUPTI's own sums: %" PRIu64 " of %" PRIu64
			 " match; the first that differs: process %u GPU %u context %u stream %u "
			 "%s: CUPTI %" PRIu64 " (%" PRIu64 " ns, %" PRIu64
			 " bytes), profile %" PRIu64 " (%" PRIu64 " ns, %" PRIu64 " bytes)",
			 gpu->equal, gpu->sums, gpu->difference_pid, theirs->key.device,
			 theirs->key.context, theirs->key.stream, work_word(theirs->key.work),
			 theirs->count, theirs->ns, theirs->bytes, here->count, here->ns,
			 here->bytes);
	if (gpu->uncompared)
		log_line(log,
			 "  sums not compared, as there are too many streams to keep all apart: "
			 "%" PRIu64,
			 gpu->uncompared);
}

void gpu_table_report(struct log *log, const struct ledger *ledger, const struct devices *devices)
{
	const struct ledger_gpu *gpu = &ledger->gpu;
	struct gpu_work_rows rows;
	int width = 0;

	if (gpu_work_rows_init(&rows, gpu, devices) && (gpu->row_count > 0 || gpu->sums > 0)) {
		log_line(log, "GPU work:");
		for (uint32_t i = 0; i < rows.count; i++)
			if ((int)strlen(rows.list[i].label) > width)
				width = (int)strlen(rows.list[i].label);
		for (uint32_t i = 0; i < rows.count; i++)
			report_row(log, &rows.list[i], width);
		report_check(log, gpu);
	}
	gpu_work_rows_release(&rows);
}

/* ---- devices ---- */

struct device_line {
	char label[DEVICE_LABEL_BYTES];
	const struct device *device;
};

static int by_label(const void *a, const void *b)
{
	const struct device_line *x = a, *y = b;
	int order = device_label_compare(x->label, y->label);

	if (!order)
		order = memcmp(x->device->uuid, y->device->uuid, sizeof(x->device->uuid));
	return order ? order : strcmp(x->device->name, y->device->name);
}

static void report_device(struct log *log, const struct device_line *line)
{
	char uuid[DEVICE_UUID_BYTES];

	device_uuid(line->device, uuid);
	log_verbose(log, "%s: %s%s%s", line->label,
		    line->device->is_described ? line->device->name
					       : "CUPTI did not report its name",
		    uuid[0] ? ", " : "", uuid);
}

void gpu_table_report_devices(struct log *log, const struct result *result)
{
	struct device_line *lines = calloc(result->device_count + 1, sizeof(*lines));
	uint32_t count = 0, shown = 0;

	for (uint32_t i = 0; lines && i < result->device_count; i++) {
		if (!result->devices[i].is_used && !result->devices[i].is_referred_to)
			continue;
		device_label(&result->devices[i], lines[count].label);
		lines[count++].device = &result->devices[i];
	}
	if (count)
		qsort(lines, count, sizeof(*lines), by_label);
	for (uint32_t i = 0; i < count; i++) {
		if (i > 0 && by_label(&lines[i - 1], &lines[i]) == 0)
			continue;
		if (shown++ < DEVICE_LINES_MAX)
			report_device(log, &lines[i]);
	}
	if (shown > DEVICE_LINES_MAX)
		log_verbose(log, "and %u more devices", shown - DEVICE_LINES_MAX);
	free(lines);
}
