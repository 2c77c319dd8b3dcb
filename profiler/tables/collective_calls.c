// SPDX-License-Identifier: MIT
#include "profiler/tables/collective_calls.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/tables/nccl_text.h"
#include "symbolize/util/saturate.h"
#include "symbolize/util/sorted.h"

/* ---- ranges ---- */

/* Returns the frame of the call that started the work of a stack, and its text; or NULL. */
static const struct frame_info *find_call(const struct result *r, uint32_t stack,
					  struct nccl_text *text)
{
	const struct frame_info *found = NULL;
	struct nccl_text outer;

	for (; stack != RESULT_ROOT; stack = r->stacks[stack].outer) {
		const struct frame_info *frame = &r->frames[r->stacks[stack].frame];

		if (frame->class != CLASS_NVTX || !nccl_text_read(frame->name, &outer))
			continue;
		if (found && !outer.has_bytes)
			continue;
		found = frame;
		*text = outer;
		if (outer.has_bytes)
			break;
	}
	return found;
}

/* Returns the start of a frame's name that all communicators share. */
static const char *shared_start(struct intern *strings, const char *name)
{
	const char *end = strstr(name, ", ");
	char start[NCCL_TEXT_BYTES + 32];

	snprintf(start, sizeof(start), "%.*s", end ? (int)(end - name) : NCCL_TEXT_BYTES, name);
	return intern_string(strings, start);
}

/* ---- entries ---- */

static bool has_key(const void *records, uint32_t position, const void *key)
{
	return ((const struct collective_call *)records)[position].key == key;
}

/* Returns the entry of a call, which is added if it is new. Returns NULL if out of memory. */
static struct collective_call *
entry_of(struct collective_calls *all, const struct frame_info *frame, const struct nccl_text *text)
{
	char name[NCCL_TEXT_BYTES + 100];
	const char *key;
	uint32_t hash, at;

	snprintf(name, sizeof(name), "%s %s %d %" PRIu64 " %" PRIu64, text->operation,
		 text->reduction, text->has_bytes, text->bytes, text->ranks);
	key = intern_string(&all->strings, name);
	if (!key)
		return NULL;
	hash = hash_number((uint64_t)(uintptr_t)key);
	at = record_find_equal(all, hash, has_key, key);
	if (at == RECORD_NONE) {
		const struct collective_call added = {
			.key = key,
			.operation = intern_string(&all->strings, text->operation),
			.reduction = intern_string(&all->strings, text->reduction),
			.frame = shared_start(&all->strings, frame->name),
			.is_group = strchr(text->operation, ' ') != NULL,
			.has_bytes = text->has_bytes,
			.bytes = text->bytes,
			.ranks = text->ranks,
			.moved = text->moved,
			.factor = text->factor};

		if (added.operation && added.reduction && added.frame)
			at = record_add_hashed(all, hash, &added);
	}
	return at != RECORD_NONE ? &all->list[at] : NULL;
}

static void add_kernel(struct collective_call *e, const struct frame_info *kernel,
		       const struct row *row, bool is_wait)
{
	saturated_add(&e->executions, row->count);
	saturated_add(&e->ns, row->ns);
	if (is_wait)
		saturated_add(&e->waited_ns, row->ns);
	e->kernels_differ |= e->kernel && strcmp(e->kernel->name, kernel->name) != 0;
	e->kernel = kernel;
}

/* Adds a row of GPU work. Returns false if out of memory. */
static bool add_row(struct collective_calls *all, const struct result *r, const struct row *row)
{
	uint32_t work = result_work_stack(r, row->stack);
	const struct frame_info *call, *frame;
	struct collective_call *e;
	struct nccl_text text;

	if (work == RESULT_ROOT)
		return true;
	call = find_call(r, work, &text);
	if (!call)
		return true;
	e = entry_of(all, call, &text);
	if (!e)
		return false;
	frame = &r->frames[r->stacks[work].frame];
	if (frame->class == CLASS_GPU_KERNEL) {
		add_kernel(e, frame, row,
			   r->frames[r->stacks[row->stack].frame].class == CLASS_WAIT);
	} else {
		saturated_add(&e->other_count, row->count);
		saturated_add(&e->other_ns, row->ns);
	}
	return true;
}

/* Sets times and bandwidths once all rows were added. */
static void finish(struct collective_call *e)
{
	uint64_t ns;

	if (!e->kernel) {
		e->executions = e->ranks == 1 ? e->other_count : 0;
		e->ns = e->other_ns;
	}
	e->algorithm = e->bus = -1;
	ns = e->ns - e->waited_ns;
	if (e->is_group && (!e->has_bytes || e->kernels_differ))
		e->executions = 0; /* one may have started several kernels */
	if (ns == 0 || e->executions == 0 || e->moved == 0)
		return;
	e->algorithm = (double)e->moved * (double)e->executions / (double)ns;
	if (e->factor >= 0)
		e->bus = e->algorithm * e->factor;
}

static int by_time(const void *a, const void *b)
{
	const struct collective_call *x = a, *y = b;
	int order = compare_numbers(y->ns, x->ns);

	return order ? order : strcmp(x->key, y->key);
}

struct collective_calls *collective_calls_new(const struct result *result)
{
	struct collective_calls *all = calloc(1, sizeof(*all));

	for (uint32_t i = 0; all && i < result->row_count; i++) {
		if (result->rows[i].kind == ROW_GPU && !add_row(all, result, &result->rows[i])) {
			collective_calls_free(all);
			return NULL;
		}
	}
	for (uint32_t i = 0; all && i < all->count; i++) {
		finish(&all->list[i]);
		saturated_add(&all->whole_ns, all->list[i].ns);
	}
	if (all && all->count)
		qsort(all->list, all->count, sizeof(*all->list), by_time);
	if (all)
		hash_index_release(&all->set.index); /* positions have changed */
	return all;
}

void collective_calls_free(struct collective_calls *calls)
{
	if (!calls)
		return;
	record_set_release(&calls->set);
	intern_release(&calls->strings);
	free(calls);
}

/* ---- as a table ---- */

struct call_row {
	struct collective_call call;
	double algorithm, bus;
};

static const struct report_column columns[] = {
	REPORT_COLUMN(call_row, call.executions, "executions", "Executions", COUNT, 10),
	REPORT_COLUMN(call_row, call.ns, "ns", "Time", TIME, 11),
	REPORT_COLUMN(call_row, call.bytes, "bytes", "Message", BYTES, 11),
	REPORT_COLUMN(call_row, call.ranks, "ranks", "Ranks", COUNT, 6),
	REPORT_COLUMN(call_row, algorithm, "algorithm_gb_per_s", "Algo GB/s", NUMBER, 10),
	REPORT_COLUMN(call_row, bus, "bus_gb_per_s", "Bus GB/s", NUMBER, 10),
	REPORT_COLUMN(call_row, call.reduction, "reduction", "Reduction", TEXT, 9),
	REPORT_COLUMN(call_row, call.operation, "operation", "Collective", TEXT, UINT8_MAX),
	REPORT_COLUMN(call_row, call.waited_ns, "waited_ns", "Waited for ranks", TIME, 0),
};

struct report_table *collective_calls_report_table(const struct result *result)
{
	struct report_table *f =
		REPORT_TABLE_NEW("collective_calls", "Collectives by size", columns);
	struct collective_calls *all = f ? collective_calls_new(result) : NULL;

	for (uint32_t i = 0; all && i < all->count; i++) {
		const struct collective_call *e = &all->list[i];
		const struct call_row row = {.call = *e,
					     .algorithm = e->algorithm > 0 ? e->algorithm : 0,
					     .bus = e->bus > 0 ? e->bus : 0};

		report_table_add(f, &row);
	}
	if (all) {
		collective_calls_free(all);
		return f;
	}
	report_table_free(f);
	errno = ENOMEM;
	return NULL;
}
