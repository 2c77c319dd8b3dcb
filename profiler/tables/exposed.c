// SPDX-License-Identifier: MIT
#include "profiler/tables/exposed.h"

#include <errno.h>
#include <stdlib.h>
#include "cupti_trace/wire/gpu_work.h"
#include "profiler/model/quantity.h"
#include "profiler/tables/busy.h"
#include "profiler/tables/collectives.h"

enum work_class { COMPUTES, COPIES, COMMUNICATES, WORK_CLASSES };

struct exposed_row {
	const char *device, *work;
	uint64_t ns, exposed_ns, share, share_of_run;
};

static const struct report_column columns[] = {
	REPORT_COLUMN(exposed_row, device, "device", "GPU", TEXT, 12),
	REPORT_COLUMN(exposed_row, work, "work", "Work", TEXT, 12),
	REPORT_COLUMN(exposed_row, ns, "ns", "Time", TIME, 11),
	REPORT_COLUMN(exposed_row, exposed_ns, "exposed_ns", "Exposed", TIME, 11),
	REPORT_COLUMN(exposed_row, share, "exposed_permille", "Exposed share", SHARE, 13),
	REPORT_COLUMN(exposed_row, share_of_run, "run_permille", "Share of run", SHARE, UINT8_MAX),
};

struct classes {
	const struct result *result;
	const bool *is_nccl; /* by frame */
};

/* Spans of one device and class. */
struct run_of_spans {
	const struct busy_span *spans;
	uint64_t count;
};

static bool class_of(const void *context, const struct timeline_record *record, uint32_t *device)
{
	const struct classes *c = context;
	const struct result *r = c->result;
	enum work_class class;
	uint32_t stack;

	if (*device == BUSY_NO_DEVICE || *device >= UINT32_MAX / WORK_CLASSES)
		return false;
	if (gpu_work_is_copy(record->work)) {
		class = COPIES;
	} else if (record->work == GPU_WORK_KERNEL) {
		stack = result_work_stack(r, result_record_stack(r, record));
		class = stack != RESULT_ROOT && c->is_nccl[r->stacks[stack].frame] ? COMMUNICATES
										   : COMPUTES;
	} else if (record->work == GPU_WORK_GRAPH || record->work == GPU_WORK_DEVICE_GRAPH) {
		class = COMPUTES; /* a graph's kernels are unknown */
	} else {
		return false;
	}
	*device = *device * WORK_CLASSES + class;
	return true;
}

static uint64_t length_of(const struct run_of_spans *run)
{
	uint64_t ns = 0;

	for (uint64_t i = 0; i < run->count; i++)
		ns += run->spans[i].end - run->spans[i].start;
	return ns;
}

static uint64_t length_of_both(const struct run_of_spans *a, const struct run_of_spans *b)
{
	uint64_t ns = 0;

	for (uint64_t i = 0, j = 0; i < a->count && j < b->count;) {
		const struct busy_span *x = &a->spans[i], *y = &b->spans[j];
		uint64_t from = x->start > y->start ? x->start : y->start;
		uint64_t to = x->end < y->end ? x->end : y->end;

		if (from < to)
			ns += to - from;
		if (x->end < y->end)
			i++;
		else
			j++;
	}
	return ns;
}

static void add(struct report_table *f, const struct result *r, uint32_t device,
		const struct run_of_spans runs[WORK_CLASSES])
{
	static const char *const names[WORK_CLASSES] = {
		[COPIES] = "copies", [COMMUNICATES] = "collectives"};
	char label[DEVICE_LABEL_BYTES];
	uint64_t from_ns, to_ns;

	result_time_range(r, &from_ns, &to_ns);
	device_label(&r->devices[device], label);
	for (int class = COPIES; class < WORK_CLASSES; class ++) {
		uint64_t ns = length_of(&runs[class]);
		uint64_t exposed = ns - length_of_both(&runs[class], &runs[COMPUTES]);
		const struct exposed_row row = {label,
						names[class],
						ns,
						exposed,
						permille_of(exposed, ns),
						permille_of(exposed, to_ns - from_ns)};

		if (ns > 0)
			report_table_add(f, &row);
	}
}

/* Adds all devices. Spans are in order of devices and classes. */
static void add_devices(struct report_table *f, const struct result *r,
			const struct busy_span *spans, uint64_t count)
{
	for (uint64_t i = 0; i < count;) {
		uint32_t device = spans[i].device / WORK_CLASSES;
		struct run_of_spans runs[WORK_CLASSES] = {{NULL, 0}};

		for (; i < count && spans[i].device / WORK_CLASSES == device; i++) {
			struct run_of_spans *run = &runs[spans[i].device % WORK_CLASSES];

			if (run->count++ == 0)
				run->spans = &spans[i];
		}
		add(f, r, device, runs);
	}
}

struct report_table *exposed_report_table(const struct result *result)
{
	struct report_table *f = REPORT_TABLE_NEW(
		"exposed", "Copies and collectives not hidden by kernels", columns);
	bool *is_nccl = collectives_nccl_frames(result);
	struct classes classes = {result, is_nccl};
	struct busy_span *spans = NULL;
	uint64_t count = 0;
	bool has_read = f && is_nccl;

	if (has_read && result->timeline)
		has_read = busy_gather(result, class_of, &classes, &spans, &count);
	if (has_read)
		add_devices(f, result, spans, count);
	free(spans);
	free(is_nccl);
	if (has_read)
		return f;
	report_table_free(f);
	errno = ENOMEM;
	return NULL;
}
