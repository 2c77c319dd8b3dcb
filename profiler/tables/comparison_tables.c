// SPDX-License-Identifier: MIT
#include "profiler/tables/comparison_private.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/base/cuda_errors.h"
#include "profiler/model/memory_use.h"
#include "profiler/tables/hot_spots.h"
#include "profiler/tables/launch_shapes.h"
#include "symbolize/util/array.h"

_Static_assert((int)COMPARED_WAITS == (int)HOT_SPOTS_WAITS &&
		       (int)COMPARED_KERNELS == (int)HOT_SPOTS_KERNELS,
	       "the tables of a digest come first");

/* Returns the total of a table's entries. */
static enum comparison_total total_of_table(enum comparison_tables number)
{
	static const enum comparison_total totals[COMPARISON_TABLES] = {
		[COMPARED_KERNELS] = TOTAL_GPU,   [COMPARED_COPIES] = TOTAL_GPU,
		[COMPARED_SITES] = TOTAL_GPU,     [COMPARED_FUNCTIONS] = TOTAL_CPU,
		[COMPARED_WAITS] = TOTAL_WAITING, [COMPARED_CALLS] = TOTAL_API,
		[COMPARED_SHAPES] = TOTAL_GPU,    [COMPARED_PEAK] = TOTAL_PEAK,
		[COMPARED_LEFT] = TOTAL_LEFT,     [COMPARED_ERRORS] = TOTAL_ERRORS};

	return totals[number];
}

enum change_unit comparison_table_unit(enum comparison_tables table)
{
	return comparison_total_unit(total_of_table(table));
}

/* ---- entries ---- */

static bool entry_equal(const void *records, uint32_t position, const void *key)
{
	const struct frame_info *a = ((const struct comparison_entry *)records)[position].frame;
	const struct frame_info *b = key;

	return a->class == b->class && strcmp(a->name, b->name) == 0;
}

/* Adds to the entry of a common frame (comparison_common_frame). */
static void add_common(struct made_comparison *made, enum comparison_tables number,
		       const struct frame_info *frame, const struct compared_run *run,
		       const struct amount *amount)
{
	struct comparison_table *t = &made->comparison.tables[number];
	struct making_table *making = &made->tables[number];
	uint32_t hash = hash_bytes(frame->name, strlen(frame->name));
	uint32_t at = hash_index_find(&making->index, hash, entry_equal, t->entries, frame);

	if (at == HASH_INDEX_NONE) {
		at = t->count;
		if (!array_make_room(&t->entries, at, &making->capacity, sizeof(*t->entries)) ||
		    hash_index_add(&making->index, hash, at) != 0) {
			comparison_fail(made, ENOMEM);
			return;
		}
		t->entries[t->count++] =
			(struct comparison_entry){.frame = frame, .names = COMPARISON_NONE};
	}
	if (!t->entries[at].is_on[run->side] && number != COMPARED_KERNELS)
		t->entries[at].frame = frame; /* runs after come last */
	t->entries[at].is_on[run->side] = true;
	comparison_add(made, &making->amounts, at, run, amount);
}

static void add_to_table(struct made_comparison *made, enum comparison_tables number,
			 const struct frame_info *frame, const struct compared_run *run,
			 const struct amount *amount)
{
	add_common(made, number, comparison_common_frame(made, frame), run, amount);
}

/* Adds to the table's total and, scaled, to the frame's entry. */
static void add_to_both(struct made_comparison *made, enum comparison_tables number,
			const struct frame_info *frame, const struct compared_run *run,
			const struct amount *amount)
{
	enum comparison_total total = total_of_table(number);
	struct amount scaled = comparison_scaled(*amount, run, total);

	comparison_add(made, &made->totals, total, run, amount);
	add_to_table(made, number, frame, run, &scaled);
}

/* Returns a name that lives as long as the comparison; NULL with the error set. */
__attribute__((format(printf, 2, 3))) static const char *make_name(struct made_comparison *made,
								   const char *format, ...)
{
	const char *kept = NULL;
	char *name = NULL;
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vasprintf(&name, format, arguments);
	va_end(arguments);
	if (length >= 0) {
		if (comparison_take(made, (size_t)length + 1))
			kept = intern_string(&made->made_names, name);
		free(name);
	}
	if (!kept)
		comparison_fail(made, ENOMEM);
	return kept;
}

/* Returns a frame that lives as long as the comparison; NULL with the error set. */
static const struct frame_info *make_frame(struct made_comparison *made,
					   const struct frame_info *frame)
{
	struct made_frame *new = NULL;

	if (!frame->name || !frame->short_name || !comparison_take(made, sizeof(*new)))
		return NULL;
	new = malloc(sizeof(*new));
	if (!new) {
		comparison_fail(made, ENOMEM);
		return NULL;
	}
	*new = (struct made_frame){made->made_frames, *frame};
	made->made_frames = new;
	return &new->frame;
}

static const struct frame_info *make_call(struct made_comparison *made, const char *name)
{
	return make_frame(
		made, &(struct frame_info){.class = CLASS_API, .name = name, .short_name = name});
}

/* ---- adding a run ---- */

void comparison_add_row(struct made_comparison *made, const struct compared_run *run,
			const struct row *row, const struct amount *whole)
{
	enum comparison_total total = comparison_total_of_row(row->kind);
	struct amount amount = comparison_scaled(*whole, run, total);
	const struct frame_info *frames[HOT_SPOTS_TABLES];

	hot_spots_frames(run->result, row, frames);
	for (int i = 0; i < HOT_SPOTS_TABLES; i++)
		if (frames[i])
			add_to_table(made, (enum comparison_tables)i, frames[i], run, &amount);
	comparison_add(made, &made->totals, total, run, whole);
}

/* Adds all calls below one stack. */
static void add_calls(struct made_comparison *made, const struct compared_run *run, uint32_t stack)
{
	const struct result *r = run->result;
	const struct duration_spread *s = &run->spreads.calls[stack];
	struct amount amount = {.count = s->count, .value = s->mean * (double)s->count};

	if (s->count == 0)
		return;
	amount.measured = duration_spread_variance(s, 1, s->count, amount.value);
	if (stack == RESULT_ROOT)
		comparison_add(made, &made->totals, TOTAL_API, run, &amount);
	else
		add_to_both(made, COMPARED_CALLS, &r->frames[r->stacks[stack].frame], run, &amount);
}

/* Returns the spread of a function's calls, as if the calls of a bucket were equal. */
static struct duration_spread spread_of(const struct api_call *call)
{
	struct duration_spread s = {.count = call->returned};

	if (call->returned == 0)
		return s;
	s.mean = (double)call->ns / (double)call->returned;
	for (uint32_t i = 0; i < GPU_CALL_BUCKETS; i++) {
		double difference =
			fmin((double)gpu_call_bucket_longest(i), (double)call->longest_ns) - s.mean;

		s.squares += difference * difference * (double)call->buckets[i];
	}
	return s;
}

/* Adds all calls that the program itself made, for a run that counted them. */
static void add_all_calls(struct made_comparison *made, const struct compared_run *run)
{
	const struct api_calls *calls = &run->result->totals.ledger->api;

	for (uint32_t i = 0; i < calls->count && !made->error; i++) {
		const struct api_call *call = calls->list[i];
		struct duration_spread spread = spread_of(call);
		uint64_t nested = call->nested < call->calls ? call->nested : call->calls;
		uint64_t nested_ns = call->nested_ns < call->ns ? call->nested_ns : call->ns;
		struct amount amount = {.count = call->calls - nested,
					.value = (double)(call->ns - nested_ns)};
		const struct frame_info *frame;

		if (amount.count == 0)
			continue;
		amount.measured = duration_spread_variance(&spread, 1, amount.count, amount.value);
		frame = make_call(made, call->name);
		if (frame)
			add_to_both(made, COMPARED_CALLS, frame, run, &amount);
	}
}

/*
 * Adds "cudaMalloc: cudaErrorMemoryAllocation". Numbers of errors have no noise. "Not ready" is no
 * failure: its number depends on timing alone.
 */
static void add_error(struct made_comparison *made, const struct compared_run *run,
		      const struct api_call *call, uint32_t number)
{
	const struct amount amount = {.value = (double)call->errors[number].count,
				      .count = call->errors[number].count};
	const struct frame_info *frame;
	char error[API_CALL_ERROR_BYTES];

	if (amount.count == 0 || call->errors[number].code == CUDA_ERROR_CODE_NOT_READY)
		return;
	frame = make_call(made, make_name(made, "%s: %s", call->name,
					  api_call_error_text(call, number, error)));
	if (frame)
		add_to_both(made, COMPARED_ERRORS, frame, run, &amount);
}

static void add_errors(struct made_comparison *made, const struct compared_run *run)
{
	const struct api_calls *calls = &run->result->totals.ledger->api;

	for (uint32_t i = 0; i < calls->count; i++)
		for (uint32_t n = 0; n < API_CALL_ERRORS && !made->error; n++)
			add_error(made, run, calls->list[i], n);
}

/* Returns "gemm(float*), grid 4x8, block 256". */
static const char *shape_name(struct made_comparison *made, const char *kernel,
			      const struct launch_shape *shape)
{
	char grid[LAUNCH_DIMENSIONS_BYTES], block[LAUNCH_DIMENSIONS_BYTES];

	launch_dimensions_text(grid, shape->shape.grid);
	launch_dimensions_text(block, shape->shape.block);
	return make_name(made, "%s, grid %s, block %s", kernel, grid, block);
}

/* Adds a launch shape of a common kernel, so that variants of a kernel are compared. */
static void add_shape(struct made_comparison *made, const struct compared_run *run,
		      const struct launch_shape *shape)
{
	const struct result *r = run->result;
	const struct duration_spreads *spreads = &run->spreads;
	const struct frame_info *kernel =
		comparison_common_frame(made, &r->frames[r->stacks[shape->stack].frame]);
	struct amount amount = {.value = (double)shape->ns, .count = shape->count};
	const struct frame_info *frame = make_frame(
		made,
		&(struct frame_info){.class = CLASS_GPU_KERNEL,
				     .name = shape_name(made, kernel->name, shape),
				     .short_name = shape_name(made, kernel->short_name, shape)});

	if (!frame)
		return;
	amount.measured = duration_spread_variance(
		spreads->operations ? &spreads->operations[shape->stack] : NULL, spreads->relative,
		shape->count, amount.value);
	amount = comparison_scaled(amount, run, TOTAL_GPU);
	add_to_table(made, COMPARED_SHAPES, frame, run, &amount);
}

static void add_shapes(struct made_comparison *made, const struct compared_run *run)
{
	struct launch_shapes *all = launch_shapes_new(run->result);

	if (!all)
		comparison_fail(made, errno ? errno : ENOMEM);
	for (uint32_t i = 0; all && i < all->count && !made->error; i++)
		add_shape(made, run, &all->list[i]);
	launch_shapes_free(all);
}

/* Adds "pinned host: load(int)". */
static void add_memory_row(struct made_comparison *made, const struct compared_run *run,
			   const struct memory_row *row, uint32_t kind,
			   const struct frame_info *function)
{
	const char *word = memory_kind_word(kind);
	struct amount peak = {.value = (double)row->peak_bytes, .count = row->at_peak},
		      left = {.value = (double)row->left_bytes, .count = row->left};
	struct frame_info frame = *comparison_common_frame(made, function);
	const struct frame_info *kept;

	frame.name = make_name(made, "%s: %s", word, frame.name);
	frame.short_name = make_name(made, "%s: %s", word, frame.short_name);
	kept = make_frame(made, &frame);
	if (kept && row->peak_bytes)
		add_common(made, COMPARED_PEAK, kept, run, &peak);
	if (kept && row->left_bytes)
		add_common(made, COMPARED_LEFT, kept, run, &left);
}

/* Adds memory by kind and by the function that allocated it. */
static void add_memory_rows(struct made_comparison *made, const struct compared_run *run)
{
	static const struct frame_info unknown = {
		.class = CLASS_MARK, .name = "[unknown]", .short_name = "[unknown]"};
	const struct result *whole = result_whole(run->result);
	struct memory_use use;

	memory_use_of(run->result->tables, &use);
	for (uint32_t i = 0; i < use.row_count && !made->error; i++) {
		const struct memory_row *row = &use.rows[i];
		const struct frame_info *function = hot_spots_site(whole, row->stack);

		if (row->peak_bytes || row->left_bytes)
			add_memory_row(made, run, row, use.totals[row->total].kind,
				       function ? function : &unknown);
	}
}

/* Adds the totals of memory, of all kinds and the whole run. They are exact. */
static void add_memory(struct made_comparison *made, const struct compared_run *run)
{
	struct amount peak = {.count = 0}, left = {.count = 0};
	struct memory_use use;

	memory_use_of(run->result->tables, &use);
	for (uint32_t i = 0; i < use.total_count; i++) {
		peak.value += (double)use.totals[i].peak_bytes;
		left.value += (double)use.totals[i].left_bytes;
		peak.count += use.totals[i].allocations;
		left.count += use.totals[i].left;
	}
	comparison_add(made, &made->totals, TOTAL_PEAK, run, &peak);
	comparison_add(made, &made->totals, TOTAL_LEFT, run, &left);
}

void comparison_add_tables(struct made_comparison *made, const struct compared_run *run)
{
	const struct result *r = run->result;

	if (comparison_counts_calls(r))
		add_all_calls(made, run);
	else
		for (uint32_t i = 0; run->spreads.calls && i < r->stack_count && !made->error; i++)
			add_calls(made, run, i);
	if (!made->comparison.is_of_steps) { /* these are of the whole run */
		add_memory(made, run);
		add_memory_rows(made, run);
	}
	if (made->comparison.has_errors)
		add_errors(made, run);
	if (made->has_shapes && !made->error)
		add_shapes(made, run);
}

/* ---- judging and sorting ---- */

static int by_change(const void *a, const void *b, void *entries)
{
	const struct comparison_entry *x =
		(const struct comparison_entry *)entries + *(const uint32_t *)a;
	const struct comparison_entry *y =
		(const struct comparison_entry *)entries + *(const uint32_t *)b;
	double dx = fabs(change_difference(&x->change)), dy = fabs(change_difference(&y->change));

	if (x->change.is_significant != y->change.is_significant)
		return x->change.is_significant ? -1 : 1;
	if (dx != dy)
		return dx > dy ? -1 : 1;
	return strcmp(x->frame->name, y->frame->name);
}

static void judge_table(struct made_comparison *made, enum comparison_tables number)
{
	struct comparison_table *t = &made->comparison.tables[number];
	const struct amounts *amounts = &made->tables[number].amounts;
	struct change_base base = comparison_base(made, total_of_table(number));

	for (uint32_t i = 0; i < t->count; i++) {
		t->entries[i].change =
			change_of(&base, amounts_values(amounts, i), amounts_sides(amounts, i));
		t->entries[i].change.unit = comparison_table_unit(number);
	}
}

static void judge_tables(struct made_comparison *made)
{
	struct comparison_table *tables = made->comparison.tables;
	struct change **list;
	uint32_t count = 0;

	for (int i = 0; i < COMPARISON_TABLES; i++) {
		judge_table(made, (enum comparison_tables)i);
		count += tables[i].count;
	}
	list = malloc((count + 1u) * sizeof(struct change *));
	if (!list) {
		comparison_fail(made, ENOMEM);
		return;
	}
	count = 0;
	for (int i = 0; i < COMPARISON_TABLES; i++)
		for (uint32_t at = 0; at < tables[i].count; at++)
			list[count++] = &tables[i].entries[at].change;
	comparison_control(made, list, count);
	free(list);
}

static void sort_table(struct made_comparison *made, int number)
{
	struct comparison_table *t = &made->comparison.tables[number];
	struct making_table *making = &made->tables[number];
	uint32_t *order = malloc((t->count + 1u) * sizeof(*order));
	struct comparison_entry *sorted = malloc((t->count + 1u) * sizeof(*sorted));

	if (!order || !sorted) {
		comparison_fail(made, ENOMEM);
		free(order);
		free(sorted);
		return;
	}
	for (uint32_t i = 0; i < t->count; i++)
		order[i] = i;
	if (t->count > 0)
		qsort_r(order, t->count, sizeof(*order), by_change, t->entries);
	for (uint32_t i = 0; i < t->count; i++)
		sorted[i] = t->entries[order[i]];
	free(t->entries);
	t->entries = sorted;
	making->order = order;
	hash_index_release(&making->index);
}

/* Lists the names that each kernel's entry includes. */
static void name_kernels(struct made_comparison *made)
{
	struct comparison_table *t = &made->comparison.tables[COMPARED_KERNELS];
	const struct kernel_matches *kernels = &made->kernels;
	uint32_t count = kernels->count;
	uint32_t *entries = calloc(count + 1u, sizeof(*entries)); /* by kernel of the group */

	made->comparison.names = made->names = malloc((count + 1u) * sizeof(*made->names));
	if (!made->names || !entries) {
		comparison_fail(made, ENOMEM);
		free(entries);
		return;
	}
	for (uint32_t i = 0; i < t->count; i++)
		entries[kernel_matches_find(kernels, t->entries[i].frame->name)] = i;
	for (uint32_t i = count; i-- > 0;) {
		const struct matched_kernel *k = &kernels->list[i];
		struct comparison_entry *e = &t->entries[entries[k->group]];

		made->names[i] = (struct comparison_name){.frame = k->frame, .next = e->names};
		memcpy(made->names[i].is_on, k->is_on, sizeof(k->is_on));
		e->names = i;
		e->matched_by = k->matched_by;
		for (int side = 0; side < SIDES; side++)
			e->variants[side] += k->is_on[side];
	}
	free(entries);
}

void comparison_finish_tables(struct made_comparison *made)
{
	judge_tables(made);
	for (int i = 0; i < COMPARISON_TABLES && !made->error; i++)
		sort_table(made, i);
	if (!made->error)
		name_kernels(made);
}
