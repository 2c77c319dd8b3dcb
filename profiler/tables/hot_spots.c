// SPDX-License-Identifier: MIT
#include "profiler/tables/hot_spots.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/base/cuda_functions.h"
#include "profiler/tables/busy.h"
#include "symbolize/util/sorted.h"
#include "symbolize/util/text.h"

/* ---- sums by name ---- */

static bool entry_equal(const void *records, uint32_t position, const void *key)
{
	const struct frame_info *a = ((const struct hot_spot *)records + position)->frame, *b = key;

	return a->class == b->class && strcmp(a->name, b->name) == 0;
}

static void add(struct hot_spot *to, const struct row *row)
{
	to->count += row->count;
	to->ns += row->ns;
	to->bytes += row->bytes;
}

/* Returns the frame's entry, which is added if it is new. Returns NULL if out of memory. */
static struct hot_spot *entry_of(struct hot_spot_table *t, const struct frame_info *frame)
{
	uint32_t hash = hash_bytes(frame->name, strlen(frame->name));
	uint32_t at = record_find_equal(t, hash, entry_equal, frame);

	if (at == RECORD_NONE)
		at = record_add_hashed(t, hash, &((struct hot_spot){.frame = frame}));
	return at != RECORD_NONE ? &t->list[at] : NULL;
}

/* Adds a row. Without memory for an entry, the row counts only in the whole. */
static void add_row(struct hot_spot_table *t, const struct frame_info *frame, const struct row *row)
{
	struct hot_spot *entry = entry_of(t, frame);

	add(&t->whole, row);
	if (entry)
		add(entry, row);
}

/* Orders by time, the longest first, then by name, so that reports are reproducible. */
static int by_time(const void *a, const void *b)
{
	const struct hot_spot *x = a, *y = b;
	int order = compare_numbers(y->ns, x->ns);

	order = order ? order : compare_numbers(y->total_ns, x->total_ns);
	return order ? order : strcmp(x->frame->name, y->frame->name);
}

/* ---- frames of a row ---- */

static const struct frame_info *frame_of(const struct result *r, uint32_t stack)
{
	return stack == RESULT_ROOT ? NULL : &r->frames[r->stacks[stack].frame];
}

/* Returns true for the function that nvcc makes for each kernel, which calls CUDA. */
static bool is_stub(const struct frame_info *frame)
{
	return starts_with(frame->name, "__device_stub_");
}

static bool is_code(const struct frame_info *frame)
{
	if (frame->class == CLASS_NATIVE && is_stub(frame))
		return false;
	return frame->class == CLASS_NATIVE || frame->class == CLASS_PYTHON ||
	       frame->class == CLASS_JIT;
}

/* Returns true for a call of CUDA; with a static runtime, a function of the program's file. */
static bool is_call(const struct frame_info *frame)
{
	return frame->class == CLASS_API ||
	       (frame->class == CLASS_NATIVE && starts_with(frame->name, "cu") &&
		cuda_function_of(frame->name) != CUDA_FUNCTION_NONE);
}

/* A node of a graph has two stacks, one inside the other. The launch's is the outer one. */
const struct frame_info *hot_spots_site(const struct result *r, uint32_t stack)
{
	const struct frame_info *found = NULL, *frame;
	bool wants_code = false;

	for (; (frame = frame_of(r, stack)); stack = r->stacks[stack].outer) {
		if (is_call(frame) || frame->class == CLASS_MARK || frame->class == CLASS_CALL) {
			/* another stack begins: the inner stack's function does not count */
			found = NULL;
			wants_code = true;
		} else if (frame->class == CLASS_PYTHON &&
			   (!found || found->class != CLASS_PYTHON)) {
			found = frame;
		} else if (wants_code && is_code(frame) && (!found || frame_is_folded(found))) {
			found = frame;
		} else if (wants_code && !found && frame_is_folded(frame)) {
			found = frame; /* a function around it counts more */
		}
	}
	return found;
}

/*
 * Returns the innermost function of a thread that left the CPU without a call of CUDA. Without a
 * function, returns the mark that tells why.
 */
static const struct frame_info *innermost_code(const struct result *r, uint32_t stack)
{
	const struct frame_info *mark = NULL, *frame;

	for (; (frame = frame_of(r, stack)); stack = r->stacks[stack].outer) {
		if (is_code(frame))
			return frame;
		if (frame->class == CLASS_MARK && !mark)
			mark = frame;
	}
	return mark;
}

static const struct frame_info unknown = {
	.class = CLASS_MARK, .name = "[unknown]", .short_name = "[unknown]"};

bool hot_spots_is_function(const struct frame_info *frame)
{
	return frame->class == CLASS_NATIVE || frame->class == CLASS_PYTHON ||
	       frame->class == CLASS_JIT || frame->class == CLASS_KERNEL_MODE ||
	       frame->class == CLASS_API || frame_is_folded(frame);
}

/* ---- total times ---- */

/* Finds entries by frame number, and counts stacks. */
struct totals_maker {
	uint32_t *by_frame; /* the entry's position + 1; 0: not found yet */
	uint64_t stacks;    /* stacks added so far */
};

static struct hot_spot *entry_of_frame(struct totals_maker *m, struct hot_spot_table *t,
				       const struct result *r, uint32_t frame)
{
	struct hot_spot *entry;

	if (m->by_frame[frame])
		return &t->list[m->by_frame[frame] - 1];
	entry = entry_of(t, &r->frames[frame]);
	if (entry)
		m->by_frame[frame] = (uint32_t)(entry - t->list) + 1;
	return entry;
}

/* Adds a stack's time to the total of its innermost frame, and once to each function in it. */
static void add_totals(struct totals_maker *m, struct hot_spot_table *t, const struct result *r,
		       uint32_t stack, uint64_t ns)
{
	struct hot_spot *entry;
	bool is_innermost = true;

	m->stacks++;
	if (stack == RESULT_ROOT) {
		entry = entry_of(t, &unknown);
		if (entry)
			entry->total_ns += ns;
	}
	for (; stack != RESULT_ROOT; stack = r->stacks[stack].outer, is_innermost = false) {
		uint32_t frame = r->stacks[stack].frame;

		if (!is_innermost && !hot_spots_is_function(&r->frames[frame]))
			continue;
		entry = entry_of_frame(m, t, r, frame);
		if (!entry || entry->last_stack == m->stacks)
			continue;
		entry->last_stack = m->stacks;
		entry->total_ns += ns;
	}
}

static bool totals_begin(struct totals_maker *m, const struct result *r)
{
	*m = (struct totals_maker){.by_frame = calloc(r->frame_count + 1u, sizeof(uint32_t))};
	return m->by_frame;
}

/* ---- from rows ---- */

void hot_spots_frames(const struct result *r, const struct row *row,
		      const struct frame_info *frames[HOT_SPOTS_TABLES])
{
	const struct frame_info *frame = frame_of(r, result_work_stack(r, row->stack)), *caller;

	memset(frames, 0, HOT_SPOTS_TABLES * sizeof(frames[0]));
	if (!frame)
		frame = &unknown;
	if (row->kind == ROW_CPU) {
		frame = frame_of(r, result_computing_stack(r, row->stack));
		frames[HOT_SPOTS_FUNCTIONS] = frame ? frame : &unknown;
		return;
	}
	caller = hot_spots_site(r, row->stack);
	if (!caller && row->kind == ROW_WAIT)
		caller = innermost_code(r, row->stack);
	if (!caller)
		caller = &unknown;
	if (row->kind == ROW_GPU) {
		frames[frame->class == CLASS_GPU_KERNEL ? HOT_SPOTS_KERNELS : HOT_SPOTS_COPIES] =
			frame;
		frames[HOT_SPOTS_SITES] = caller;
	} else if (row->kind != ROW_IDLE) { /* idle time is a GPU's, not a thread's */
		frames[HOT_SPOTS_WAITS] = caller;
	}
}

static void add_to_hot_spots(struct hot_spots *d, const struct result *r, const struct row *row)
{
	const struct frame_info *frames[HOT_SPOTS_TABLES];

	hot_spots_frames(r, row, frames);
	for (int i = 0; i < HOT_SPOTS_TABLES; i++)
		if (frames[i])
			add_row(&d->tables[i], frames[i], row);
}

static void sort(struct hot_spot_table *t)
{
	if (t->count > 0)
		qsort(t->list, t->count, sizeof(*t->list), by_time);
	hash_index_release(&t->set.index);
}

struct hot_spots *hot_spots_new(const struct result *result)
{
	struct hot_spots *d = calloc(1, sizeof(*d));
	struct totals_maker totals;

	if (!d || !totals_begin(&totals, result)) {
		free(d);
		return NULL;
	}
	for (uint32_t i = 0; i < result->row_count; i++) {
		const struct row *row = &result->rows[i];

		add_to_hot_spots(d, result, row);
		if (row->kind == ROW_CPU)
			add_totals(&totals, &d->functions, result,
				   result_computing_stack(result, row->stack), row->ns);
	}
	free(totals.by_frame);
	for (int i = 0; i < HOT_SPOTS_TABLES; i++)
		sort(&d->tables[i]);
	return d;
}

void hot_spot_table_release(struct hot_spot_table *t)
{
	record_set_release(&t->set);
	memset(t, 0, sizeof(*t));
}

void hot_spots_sites_of(struct hot_spot_table *sites, const struct result *result,
			const struct frame_info *work)
{
	memset(sites, 0, sizeof(*sites));
	for (uint32_t i = 0; i < result->row_count; i++) {
		const struct row *row = &result->rows[i];
		const struct frame_info *frame, *site;

		if (row->kind != ROW_GPU)
			continue;
		frame = frame_of(result, result_work_stack(result, row->stack));
		frame = frame ? frame : &unknown;
		if (frame != work &&
		    (frame->class != work->class || strcmp(frame->name, work->name) != 0))
			continue;
		site = hot_spots_site(result, row->stack);
		add_row(sites, site ? site : &unknown, row);
	}
	sort(sites);
}

/* ---- from the timeline ---- */

/* Adds a record. Waits go to their own table, for merge_waits. */
static void add_record(struct hot_spots *d, struct hot_spot_table *waits,
		       struct totals_maker *totals, const struct result *r, const struct busy *busy,
		       const struct timeline_record *record)
{
	uint32_t stack = result_record_stack(r, record);
	const struct frame_info *frame = frame_of(r, stack);
	struct row row = {.count = 1, .ns = record->duration_ns};

	if (!frame)
		frame = &unknown;
	switch (record->kind) {
	case TIMELINE_LAUNCH:
		add_row(&d->calls, frame, &row);
		break;
	case TIMELINE_WAIT:
		if (frame->class != CLASS_WAIT) /* waits of calls, not of kernels */
			add_row(waits, frame, &row);
		break;
	case TIMELINE_CPU_SAMPLE:
		/* a sample that began before the time range counts 0 */
		row.count = record->start_ns != r->shown_from_ns ||
			    record->duration_ns >= r->totals.sample_ns;
		if (!busy || busy_at(busy, record->start_ns))
			break;
		add_row(&d->idle, frame, &row);
		add_totals(totals, &d->idle, r, stack, row.ns);
		break;
	default:
		break;
	}
}

/*
 * Adds the waits to the calls. A call that blocks may have two records, of the call and of its
 * wait. So a function with both gets the larger count and the longer time.
 */
static void merge_waits(struct hot_spot_table *calls, const struct hot_spot_table *waits)
{
	for (uint32_t i = 0; i < waits->count; i++) {
		const struct hot_spot *wait = &waits->list[i];
		struct row row = {.count = wait->count, .ns = wait->ns};
		uint32_t hash = hash_bytes(wait->frame->name, strlen(wait->frame->name));
		uint32_t at = record_find_equal(calls, hash, entry_equal, wait->frame);

		if (at != RECORD_NONE) {
			const struct hot_spot *call = &calls->list[at];

			row.count = call->count < wait->count ? wait->count - call->count : 0;
			row.ns = call->ns < wait->ns ? wait->ns - call->ns : 0;
		}
		add_row(calls, wait->frame, &row);
	}
}

int hot_spots_add_timeline(struct hot_spots *d, const struct result *result,
			   const struct busy *busy)
{
	struct timeline_reader *reader = timeline_reader_new(result->timeline);
	struct hot_spot_table waits = {.count = 0};
	const struct timeline_record *record;
	struct totals_maker totals;
	int more;

	if (!reader)
		return -errno;
	if (!totals_begin(&totals, result)) {
		timeline_reader_free(reader);
		return -ENOMEM;
	}
	while ((more = timeline_reader_next(reader, &record)) == 1)
		add_record(d, &waits, &totals, result, busy, record);
	free(totals.by_frame);
	timeline_reader_free(reader);
	merge_waits(&d->calls, &waits);
	hot_spot_table_release(&waits);
	if (more) {
		hot_spot_table_release(&d->calls);
		hot_spot_table_release(&d->idle);
		return more;
	}
	sort(&d->calls);
	sort(&d->idle);
	return 0;
}

void hot_spots_free(struct hot_spots *d)
{
	if (!d)
		return;
	hot_spot_table_release(&d->calls);
	hot_spot_table_release(&d->idle);
	for (int i = 0; i < HOT_SPOTS_TABLES; i++)
		hot_spot_table_release(&d->tables[i]);
	free(d);
}
