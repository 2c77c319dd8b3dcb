// SPDX-License-Identifier: MIT
#include "profiler/profile/memory_use.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/profile/figures.h"
#include "profiler/profile/launch_shapes.h"

const char *memory_kind_word(uint32_t kind)
{
	static const char *const words[MEMORY_KINDS] = {"device", "managed", "pinned host"};

	return kind < MEMORY_KINDS ? words[kind] : "unknown";
}

void memory_use_release(struct memory_use *use)
{
	free(use->totals);
	free(use->rows);
	memset(use, 0, sizeof(*use));
}

/* ---- by device ---- */

enum total_column {
	PEAK,
	PEAK_TIME,
	LEFT,
	LEFT_PIECES,
	ALLOCATED,
	ALLOCATIONS,
	FREES,
	UNKNOWN,
	WHERE,
	ENDED,
	PID,
	TOTAL_COLUMNS
};

static const struct figure_column total_columns[TOTAL_COLUMNS] = {
	[PEAK] = {"peak_bytes", "Peak", FIGURE_BYTES, 11},
	[PEAK_TIME] = {"peak_at_ns", "At", FIGURE_TIME, 11},
	[LEFT] = {"left_bytes", "Left", FIGURE_BYTES, 11},
	[LEFT_PIECES] = {"left", "Pieces left", FIGURE_COUNT, 11},
	[ALLOCATED] = {"allocated_bytes", "Allocated", FIGURE_BYTES, 11},
	[ALLOCATIONS] = {"allocations", "Allocations", FIGURE_COUNT, 11},
	[FREES] = {"frees", "Frees", FIGURE_COUNT, 9},
	[UNKNOWN] = {"unknown_frees", "Unknown", FIGURE_COUNT, 8},
	[WHERE] = {"memory", "Memory", FIGURE_TEXT, UINT8_MAX},
	[ENDED] = {"freed_with_context", "Freed with their context", FIGURE_COUNT, 0},
	[PID] = {"process", "Process", FIGURE_TEXT, 0},
};

static const char *process_name(const struct result *r, uint32_t process)
{
	const struct process_info *info =
		r->place_names ? place_names_process(r->place_names, process) : NULL;

	return info ? info->name : "";
}

/* "device, GPU 0, app 123" */
static void place_text(const struct result *r, const struct memory_total *t, char *text,
		       size_t size)
{
	const char *process = process_name(r, t->process);
	char label[DEVICE_LABEL_BYTES];

	if (r->device_names)
		devices_label(r->device_names, t->process, t->device, label);
	else
		snprintf(label, sizeof(label), "GPU %u", t->device);
	snprintf(text, size, "%s, %s%s%s", memory_kind_word(t->kind), label, process[0] ? ", " : "",
		 process);
}

static int by_peak(const void *a, const void *b)
{
	const struct memory_total *x = *(const struct memory_total *const *)a,
				  *y = *(const struct memory_total *const *)b;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->peak_bytes != y->peak_bytes)
		return x->peak_bytes < y->peak_bytes ? 1 : -1;
	return x < y ? -1 : x > y;
}

static void add_total(struct figures *f, const struct result *r, const struct memory_total *t)
{
	uint64_t start_ns = r->totals.start_ns;
	union figure row[TOTAL_COLUMNS];
	char where[256];

	place_text(r, t, where, sizeof(where));
	row[PEAK].number = t->peak_bytes;
	row[PEAK_TIME].number = t->peak_ns > start_ns ? t->peak_ns - start_ns : 0;
	row[LEFT].number = t->left_bytes;
	row[LEFT_PIECES].number = t->left;
	row[ALLOCATED].number = t->allocated_bytes;
	row[ALLOCATIONS].number = t->allocations;
	row[FREES].number = t->frees;
	row[UNKNOWN].number = t->unknown;
	row[WHERE].text = where;
	row[ENDED].number = t->ended;
	row[PID].text = process_name(r, t->process);
	figures_add(f, row);
}

struct figures *memory_totals_figures(const struct result *result)
{
	const struct memory_use *use = result->memory_use;
	struct figures *f = figures_new("memory", "Memory", total_columns, TOTAL_COLUMNS);
	uint32_t count = use ? use->total_count : 0;
	const struct memory_total **sorted =
		calloc(count + 1u, sizeof(const struct memory_total *));

	if (!f || !sorted) {
		figures_free(f);
		free(sorted);
		errno = ENOMEM;
		return NULL;
	}
	for (uint32_t i = 0; i < count; i++)
		sorted[i] = &use->totals[i];
	qsort(sorted, count, sizeof(const struct memory_total *), by_peak);
	for (uint32_t i = 0; i < count; i++)
		add_total(f, result, sorted[i]);
	free(sorted);
	return f;
}

/* ---- by stack ---- */

enum row_column {
	ROW_PEAK,
	ROW_AT_PEAK,
	ROW_LEFT,
	ROW_LEFT_PIECES,
	ROW_ALLOCATED,
	ROW_ALLOCATIONS,
	ROW_FUNCTION,
	ROW_PATH,
	ROW_WHERE,
	ROW_COLUMNS
};

static const struct figure_column row_columns[ROW_COLUMNS] = {
	[ROW_PEAK] = {"peak_bytes", "At the peak", FIGURE_BYTES, 11},
	[ROW_AT_PEAK] = {"at_peak", "Pieces", FIGURE_COUNT, 9},
	[ROW_LEFT] = {"left_bytes", "Left", FIGURE_BYTES, 11},
	[ROW_LEFT_PIECES] = {"left", "Pieces left", FIGURE_COUNT, 11},
	[ROW_ALLOCATED] = {"allocated_bytes", "Allocated", FIGURE_BYTES, 11},
	[ROW_ALLOCATIONS] = {"allocations", "Allocations", FIGURE_COUNT, 11},
	[ROW_FUNCTION] = {"memory", "Memory", FIGURE_TEXT, UINT8_MAX},
	[ROW_PATH] = {"allocated_by", "Allocated by", FIGURE_NOTE, 0},
	[ROW_WHERE] = {"process", "Process", FIGURE_TEXT, 0},
};

static int by_use(const void *a, const void *b)
{
	const struct memory_row *x = *(const struct memory_row *const *)a,
				*y = *(const struct memory_row *const *)b;

	if (x->peak_bytes != y->peak_bytes)
		return x->peak_bytes < y->peak_bytes ? 1 : -1;
	if (x->left_bytes != y->left_bytes)
		return x->left_bytes < y->left_bytes ? 1 : -1;
	if (x->allocated_bytes != y->allocated_bytes)
		return x->allocated_bytes < y->allocated_bytes ? 1 : -1;
	return x < y ? -1 : x > y;
}

static void add_row(struct figures *f, const struct result *r, const struct memory_row *m)
{
	/* the stacks are those of the whole run's result */
	const struct result *whole = r->memory_result ? r->memory_result : r;
	const struct memory_total *t = &r->memory_use->totals[m->total];
	char path[1024], where[256];
	union figure row[ROW_COLUMNS];

	launch_path(whole, m->stack, path, sizeof(path));
	place_text(r, t, where, sizeof(where));
	row[ROW_PEAK].number = m->peak_bytes;
	row[ROW_AT_PEAK].number = m->at_peak;
	row[ROW_LEFT].number = m->left_bytes;
	row[ROW_LEFT_PIECES].number = m->left;
	row[ROW_ALLOCATED].number = m->allocated_bytes;
	row[ROW_ALLOCATIONS].number = m->allocations;
	row[ROW_FUNCTION].text = where;
	row[ROW_PATH].text = path;
	row[ROW_WHERE].text = process_name(r, t->process);
	figures_add(f, row);
}

struct figures *memory_rows_figures(const struct result *result)
{
	const struct memory_use *use = result->memory_use;
	struct figures *f = figures_new("allocations", "Allocations", row_columns, ROW_COLUMNS);
	uint32_t count = use ? use->row_count : 0;
	const struct memory_row **sorted = calloc(count + 1u, sizeof(const struct memory_row *));

	if (!f || !sorted) {
		figures_free(f);
		free(sorted);
		errno = ENOMEM;
		return NULL;
	}
	for (uint32_t i = 0; i < count; i++)
		sorted[i] = &use->rows[i];
	qsort(sorted, count, sizeof(const struct memory_row *), by_use);
	for (uint32_t i = 0; i < count; i++)
		add_row(f, result, sorted[i]);
	free(sorted);
	return f;
}
