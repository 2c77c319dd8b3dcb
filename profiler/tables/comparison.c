// SPDX-License-Identifier: MIT
#include "profiler/tables/comparison.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/base/cuda_errors.h"
#include "profiler/model/unnamed_files.h"
#include "profiler/tables/digest.h"
#include "profiler/tables/duration_spread.h"
#include "profiler/tables/launch_shapes.h"
#include "profiler/tables/significance.h"
#include "symbolize/util/array.h"
#include "symbolize/util/record_set.h"
#include "symbolize/util/intern.h"

_Static_assert((int)COMPARED_WAITS == (int)DIGEST_WAITS &&
		       (int)COMPARED_KERNELS == (int)DIGEST_KERNELS,
	       "the tables of a digest come first");

const char *comparison_match_word(enum comparison_match match)
{
	static const char *const words[MATCHES] = {"name", "template", "numbers"};

	return words[match];
}

const char *comparison_total_word(enum comparison_total total)
{
	static const char *const words[COMPARISON_TOTALS] = {
		"gpu", "cpu", "waiting", "idle", "api", "wall", "peak", "left", "errors"};

	return words[total];
}

enum change_unit comparison_table_unit(enum comparison_tables table)
{
	static const enum change_unit units[COMPARISON_TABLES] = {[COMPARED_PEAK] = CHANGE_OF_BYTES,
								  [COMPARED_LEFT] = CHANGE_OF_BYTES,
								  [COMPARED_ERRORS] =
									  CHANGE_OF_ERRORS};

	return units[table];
}

enum change_unit comparison_total_unit(enum comparison_total total)
{
	static const enum change_unit units[COMPARISON_TOTALS] = {[TOTAL_PEAK] = CHANGE_OF_BYTES,
								  [TOTAL_LEFT] = CHANGE_OF_BYTES,
								  [TOTAL_ERRORS] =
									  CHANGE_OF_ERRORS};

	return units[total];
}

/* ---- amounts by run ---- */

/* An amount that a row, or a record of the timeline, adds. The variances are those of its value. */
struct amount {
	double value;
	double sampled, measured; /* variance: of counting samples; of durations */
	uint64_t count;
	bool is_estimated; /* as in side_sum */
};

/* Amounts of numbered things: a value for each run, and sums for each side. */
struct amounts {
	uint32_t capacity;
	double *values;         /* by thing, then by run */
	struct side_sum *sides; /* by thing, then by side */
};

struct maker {
	struct comparison *comparison;
	const struct result *results[SIDES][COMPARISON_RUNS_MAX];
	uint32_t run_count; /* of both sides */
	struct kernel_matches kernels;
	struct unnamed_files unnamed;
	/* by stack, alone and then with all inside it; by enum comparison_total */
	struct amounts stacks, totals;
	/* by run: what scales its times, 1 unless they are normalized */
	double scale[SIDES * COMPARISON_RUNS_MAX][COMPARISON_TOTALS];
	double *kind_ns; /* by stack and kind: of the side that is shown */
	uint64_t *kind_count;
	uint32_t kind_capacity;
	struct allowance *memory;
	size_t taken; /* from it */
	int error;
};

static uint32_t number_of_run(const struct maker *m, enum comparison_side side, uint32_t run)
{
	return side == SIDE_BEFORE ? run : m->comparison->runs[SIDE_BEFORE] + run;
}

/* Room for thing number `at`, which begins with nothing. */
static bool amounts_reach(struct maker *m, struct amounts *a, uint32_t at)
{
	uint32_t capacity = a->capacity ? a->capacity : 64, old = a->capacity;
	double *values;
	struct side_sum *sides;

	if (at < old)
		return true;
	while (capacity <= at)
		capacity *= 2;
	values = realloc(a->values, (size_t)capacity * m->run_count * sizeof(*values));
	if (values)
		a->values = values;
	sides = realloc(a->sides, (size_t)capacity * SIDES * sizeof(*sides));
	if (sides)
		a->sides = sides;
	if (!values || !sides) {
		m->error = ENOMEM;
		return false;
	}
	memset(values + (size_t)old * m->run_count, 0,
	       (size_t)(capacity - old) * m->run_count * sizeof(*values));
	memset(sides + (size_t)old * SIDES, 0, (size_t)(capacity - old) * SIDES * sizeof(*sides));
	a->capacity = capacity;
	return true;
}

static void amounts_add(struct maker *m, struct amounts *a, uint32_t at, enum comparison_side side,
			uint32_t run, const struct amount *amount)
{
	struct side_sum *sum;

	if (!amounts_reach(m, a, at))
		return;
	sum = &a->sides[(size_t)at * SIDES + side];
	a->values[(size_t)at * m->run_count + number_of_run(m, side, run)] += amount->value;
	sum->sampled += amount->sampled;
	sum->measured += amount->measured;
	sum->count += amount->count;
	sum->is_estimated |= amount->is_estimated;
}

/* To thing `to`, all of thing `from`. */
static void amounts_move(struct amounts *to, uint32_t at, const struct amounts *from,
			 uint32_t other, uint32_t run_count)
{
	for (uint32_t run = 0; run < run_count; run++)
		to->values[(size_t)at * run_count + run] +=
			from->values[(size_t)other * run_count + run];
	for (int side = 0; side < SIDES; side++) {
		struct side_sum *sum = &to->sides[(size_t)at * SIDES + (size_t)side];
		const struct side_sum *more = &from->sides[(size_t)other * SIDES + (size_t)side];

		sum->sampled += more->sampled;
		sum->measured += more->measured;
		sum->count += more->count;
		sum->is_estimated |= more->is_estimated;
	}
}

static void amounts_release(struct amounts *a)
{
	free(a->values);
	free(a->sides);
	*a = (struct amounts){0};
}

/* False: it would be more than there is, and the error is set. */
static bool take(struct maker *m, size_t bytes)
{
	if (!allowance_take(m->memory, bytes)) {
		m->error = E2BIG;
		return false;
	}
	m->taken += bytes;
	return true;
}

/* ---- what rows add ---- */

static struct amount amount_of(const struct maker *m, const struct duration_spreads *s,
			       const struct row *row)
{
	struct amount amount = {.value = (double)row->ns, .count = row->count};

	if (row->ns == 0)
		return amount;
	amount.is_estimated = row->count == 0;
	if (m->comparison->is_weights)
		amount.sampled = duration_spread_variance(NULL, 1, row->count, amount.value);
	else if (row->kind == ROW_CPU) /* where a cut shortened samples, at least one whole one's;
					  time without a sample is as exact as samples of it */
		amount.sampled = fmax(
			row->count ? duration_spread_variance(NULL, 1, row->count, amount.value)
				   : amount.value * sqrt(s->sample),
			s->sample);
	else if (row->kind == ROW_GPU)
		amount.measured =
			duration_spread_variance(s->operations ? &s->operations[row->stack] : NULL,
						 s->relative, row->count, amount.value);
	else
		amount.measured = duration_spread_variance(NULL, 1, row->count, amount.value);
	return amount;
}

static const enum comparison_total total_of_kind[ROW_KINDS] = {[ROW_CPU] = TOTAL_CPU,
							       [ROW_GPU] = TOTAL_GPU,
							       [ROW_WAIT] = TOTAL_WAITING,
							       [ROW_CALL] = TOTAL_WAITING,
							       [ROW_IDLE] = TOTAL_IDLE};

/* Returns what an amount is after its run's scale of that total. */
static struct amount scaled(const struct maker *m, struct amount amount, enum comparison_side side,
			    uint32_t run, enum comparison_total total)
{
	double scale = m->scale[number_of_run(m, side, run)][total];

	amount.value *= scale;
	amount.sampled *= scale * scale;
	amount.measured *= scale * scale;
	return amount;
}

/* ---- names on both sides ---- */

static void match_kernels(struct maker *m)
{
	for (int side = 0; side < SIDES; side++)
		for (uint32_t i = 0; i < m->comparison->runs[side]; i++)
			if (!kernel_matches_note(&m->kernels, m->results[side][i],
						 (enum comparison_side)side))
				m->error = ENOMEM;
	if (!kernel_matches_finish(&m->kernels))
		m->error = ENOMEM;
}

static void note_unnamed(struct maker *m)
{
	for (int side = 0; side < SIDES; side++)
		for (uint32_t i = 0; i < m->comparison->runs[side]; i++) {
			const struct result *r = m->results[side][i];

			for (uint32_t j = RESULT_ROOT + 1; j < r->stack_count; j++)
				if (!unnamed_files_note(&m->unnamed,
							&r->frames[r->stacks[j].frame]))
					m->error = ENOMEM;
		}
}

/* The frame that stands for it on both sides. */
static const struct frame_info *common_frame(const struct maker *m, const struct frame_info *frame)
{
	const struct matched_kernel *kernels = m->kernels.list;
	uint32_t at = frame->class == CLASS_GPU_KERNEL
			      ? kernel_matches_find(&m->kernels, frame->name)
			      : HASH_INDEX_NONE;

	if (at != HASH_INDEX_NONE)
		return kernels[kernels[at].group].frame;
	return unnamed_files_frame(&m->unnamed, frame);
}

/* ---- tables ---- */

/* While it is made; and the amounts, for comparison_matching. */
struct making_table {
	struct hash_index index;
	uint32_t capacity;
	struct amounts amounts;
};

struct made_comparison {
	struct comparison comparison; /* what the caller sees */
	struct maker maker;
	struct making_table tables[COMPARISON_TABLES];
	uint32_t *order[COMPARISON_TABLES]; /* by entry: the amounts' number */
	struct comparison_name *names;
	RECORD_SET(struct frame_info) frames;
	RECORD_SET(struct stack_info) stacks;
	struct row *rows;
	struct change *changes, *own;
	struct frame_info *calls[SIDES][COMPARISON_RUNS_MAX];      /* functions of --api */
	struct frame_info *errors[SIDES][COMPARISON_RUNS_MAX];     /* calls with their errors */
	struct frame_info *shapes[SIDES][COMPARISON_RUNS_MAX];     /* kernels with their shapes */
	struct frame_info *allocators[SIDES][COMPARISON_RUNS_MAX]; /* with kinds of memory */
	struct intern made_names;                                  /* of these three */
	bool has_shapes;                                           /* all runs */
	bool has_charged_cpu;                                      /* all runs, whole ones */
	double charged_cpu[SIDES * COMPARISON_RUNS_MAX];           /* by run, those before first */
};

static bool entry_equal(const void *records, uint32_t position, const void *key)
{
	const struct frame_info *a = ((const struct comparison_entry *)records)[position].frame;
	const struct frame_info *b = key;

	return a->class == b->class && strcmp(a->name, b->name) == 0;
}

/* The frame is one that stands for both sides. */
static void add_common(struct made_comparison *made, enum comparison_tables number,
		       const struct frame_info *frame, enum comparison_side side, uint32_t run,
		       const struct amount *amount)
{
	struct comparison_table *t = &made->comparison.tables[number];
	struct making_table *making = &made->tables[number];
	struct maker *m = &made->maker;
	uint32_t hash = hash_bytes(frame->name, strlen(frame->name));
	uint32_t at = hash_index_find(&making->index, hash, entry_equal, t->entries, frame);

	if (at == HASH_INDEX_NONE) {
		at = t->count;
		if (!array_make_room(&t->entries, at, &making->capacity, sizeof(*t->entries)) ||
		    hash_index_add(&making->index, hash, at) != 0) {
			m->error = ENOMEM;
			return;
		}
		t->entries[t->count++] =
			(struct comparison_entry){.frame = frame, .names = COMPARISON_NONE};
	}
	if (!t->entries[at].is_on[side] && number != COMPARED_KERNELS)
		t->entries[at].frame = frame; /* after comes last */
	t->entries[at].is_on[side] = true;
	amounts_add(m, &making->amounts, at, side, run, amount);
}

static void add_to_table(struct made_comparison *made, enum comparison_tables number,
			 const struct frame_info *frame, enum comparison_side side, uint32_t run,
			 const struct amount *amount)
{
	add_common(made, number, common_frame(&made->maker, frame), side, run, amount);
}

static void add_row(struct made_comparison *made, const struct result *r, const struct row *row,
		    const struct amount *whole, enum comparison_side side, uint32_t run)
{
	enum comparison_total total = total_of_kind[row->kind];
	struct amount amount = scaled(&made->maker, *whole, side, run, total);
	const struct frame_info *frames[DIGEST_TABLES];

	digest_frames(r, row, frames);
	for (int i = 0; i < DIGEST_TABLES; i++)
		if (frames[i])
			add_to_table(made, (enum comparison_tables)i, frames[i], side, run,
				     &amount);
	amounts_add(&made->maker, &made->maker.totals, total, side, run, whole);
}

/* All calls below one stack. */
static void add_calls(struct made_comparison *made, const struct result *r,
		      const struct duration_spreads *spreads, uint32_t stack,
		      enum comparison_side side, uint32_t run)
{
	const struct duration_spread *s = &spreads->calls[stack];
	struct amount amount = {.count = s->count, .value = s->mean * (double)s->count};

	if (s->count == 0)
		return;
	amount.measured = duration_spread_variance(s, 1, s->count, amount.value);
	amounts_add(&made->maker, &made->maker.totals, TOTAL_API, side, run, &amount);
	amount = scaled(&made->maker, amount, side, run, TOTAL_API);
	if (stack != RESULT_ROOT)
		add_to_table(made, COMPARED_CALLS, &r->frames[r->stacks[stack].frame], side, run,
			     &amount);
}

/* The durations of a function's calls: those of a bucket are taken as equal. */
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

/*
 * All calls that the program itself made, of a run that counted them: those that launch or wait are
 * among them.
 */
static void add_all_calls(struct made_comparison *made, const struct result *r,
			  enum comparison_side side, uint32_t run)
{
	const struct api_calls *calls = &r->totals.ledger->api;
	struct frame_info *frames = calloc(calls->count + 1u, sizeof(*frames));

	made->calls[side][run] = frames;
	if (!frames)
		made->maker.error = ENOMEM;
	for (uint32_t i = 0; i < calls->count && !made->maker.error; i++) {
		const struct api_call *call = calls->list[i];
		struct duration_spread spread = spread_of(call);
		uint64_t nested = call->nested < call->calls ? call->nested : call->calls;
		uint64_t nested_ns = call->nested_ns < call->ns ? call->nested_ns : call->ns;
		struct amount amount = {.count = call->calls - nested,
					.value = (double)(call->ns - nested_ns)};

		if (amount.count == 0)
			continue;
		amount.measured = duration_spread_variance(&spread, 1, amount.count, amount.value);
		frames[i] = (struct frame_info){
			.class = CLASS_API, .name = call->name, .short_name = call->name};
		amounts_add(&made->maker, &made->maker.totals, TOTAL_API, side, run, &amount);
		amount = scaled(&made->maker, amount, side, run, TOTAL_API);
		add_to_table(made, COMPARED_CALLS, &frames[i], side, run, &amount);
	}
}

/* "cudaMalloc: cudaErrorMemoryAllocation". NULL: out of memory. */
static const char *error_name(struct made_comparison *made, const struct api_call *call,
			      uint32_t number)
{
	char error[API_CALL_ERROR_BYTES];
	const char *kept = NULL;
	char *name = NULL;

	if (asprintf(&name, "%s: %s", call->name, api_call_error_text(call, number, error)) < 0)
		return NULL;
	if (take(&made->maker, strlen(name) + 1 + sizeof(struct frame_info)))
		kept = intern_string(&made->made_names, name);
	free(name);
	return kept;
}

/*
 * Each is known: there is no noise in their number. How often a program asks for work that is not
 * ready depends on time alone, and is no failure.
 */
static void add_errors(struct made_comparison *made, const struct result *r,
		       enum comparison_side side, uint32_t run)
{
	const struct api_calls *calls = &r->totals.ledger->api;
	struct frame_info *frame =
		calloc((size_t)calls->count * API_CALL_ERRORS + 1, sizeof(*frame));

	made->errors[side][run] = frame;
	if (!frame)
		made->maker.error = ENOMEM;
	for (uint32_t i = 0; frame && i < calls->count; i++) {
		const struct api_call *call = calls->list[i];

		for (uint32_t n = 0; n < API_CALL_ERRORS; n++) {
			const struct amount amount = {.value = (double)call->errors[n].count,
						      .count = call->errors[n].count};

			if (amount.count == 0 || call->errors[n].code == CUDA_ERROR_CODE_NOT_READY)
				continue;
			frame->class = CLASS_API;
			frame->name = frame->short_name = error_name(made, call, n);
			if (!frame->name) {
				if (!made->maker.error)
					made->maker.error = ENOMEM;
				return;
			}
			amounts_add(&made->maker, &made->maker.totals, TOTAL_ERRORS, side, run,
				    &amount);
			add_to_table(made, COMPARED_ERRORS, frame++, side, run, &amount);
		}
	}
}

/* Returns whether a whole run has sums of calls. */
static bool counts_calls(const struct result *r)
{
	return r->totals.measure.api && r->totals.ledger && !r->totals.shown;
}

/* Otherwise an error would be new or gone only because a run did not ask. */
static bool all_count_calls(const struct maker *m)
{
	for (int side = 0; side < SIDES; side++)
		for (uint32_t i = 0; i < m->comparison->runs[side]; i++)
			if (!counts_calls(m->results[side][i]))
				return false;
	return true;
}

/* "gemm(float*), grid 4x8, block 256". NULL: out of memory. */
static const char *shape_name(struct made_comparison *made, const char *kernel,
			      const struct launch_shape *shape)
{
	char grid[LAUNCH_DIMENSIONS_BYTES], block[LAUNCH_DIMENSIONS_BYTES];
	const char *kept = NULL;
	char *name = NULL;

	launch_dimensions_text(grid, shape->shape.grid);
	launch_dimensions_text(block, shape->shape.block);
	if (asprintf(&name, "%s, grid %s, block %s", kernel, grid, block) < 0)
		return NULL;
	if (take(&made->maker, strlen(name) + 1))
		kept = intern_string(&made->made_names, name);
	free(name);
	return kept;
}

/* Kernels are those that both sides have in common, so that one of another name is found again. */
static void add_shape(struct made_comparison *made, const struct result *r,
		      const struct launch_shape *shape, const struct duration_spreads *spreads,
		      struct frame_info *frame, enum comparison_side side, uint32_t run)
{
	const struct frame_info *kernel =
		common_frame(&made->maker, &r->frames[r->stacks[shape->stack].frame]);
	struct amount amount = {.value = (double)shape->ns, .count = shape->count};

	*frame = (struct frame_info){.class = CLASS_GPU_KERNEL,
				     .name = shape_name(made, kernel->name, shape),
				     .short_name = shape_name(made, kernel->short_name, shape)};
	if (!frame->name || !frame->short_name) {
		if (!made->maker.error)
			made->maker.error = ENOMEM;
		return;
	}
	amount.measured = duration_spread_variance(
		spreads->operations ? &spreads->operations[shape->stack] : NULL, spreads->relative,
		shape->count, amount.value);
	amount = scaled(&made->maker, amount, side, run, TOTAL_GPU);
	add_to_table(made, COMPARED_SHAPES, frame, side, run, &amount);
}

static void add_shapes(struct made_comparison *made, const struct result *r,
		       const struct duration_spreads *spreads, enum comparison_side side,
		       uint32_t run)
{
	struct launch_shapes *all = launch_shapes_new(r);
	struct frame_info *frames = all ? calloc(all->count + 1u, sizeof(*frames)) : NULL;

	made->shapes[side][run] = frames;
	if (!frames)
		made->maker.error = errno ? errno : ENOMEM;
	else
		take(&made->maker, all->count * sizeof(*frames));
	for (uint32_t i = 0; frames && i < all->count && !made->maker.error; i++)
		add_shape(made, r, &all->list[i], spreads, &frames[i], side, run);
	launch_shapes_free(all);
}

/* Otherwise a shape would be new or gone only because a run did not ask. */
static bool all_have_shapes(const struct maker *m)
{
	for (int side = 0; side < SIDES; side++)
		for (uint32_t i = 0; i < m->comparison->runs[side]; i++)
			if (!m->results[side][i]->totals.measure.launch_shapes ||
			    !m->results[side][i]->timeline)
				return false;
	return true;
}

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

/* Returns what the counts of a table are compared by: `total` is that of its kind. */
static struct change_base base_of(const struct made_comparison *made, enum comparison_total total)
{
	const struct maker *m = &made->maker;
	const struct comparison *c = &made->comparison;
	const struct side_sum *sides = &m->totals.sides[(size_t)TOTAL_CPU * SIDES];
	const struct side_sum *kind = &m->totals.sides[(size_t)total * SIDES];
	struct change_base base = {.runs = {c->runs[SIDE_BEFORE], c->runs[SIDE_AFTER]}};

	for (int side = 0; side < SIDES; side++) {
		double ns = 0;

		for (uint32_t i = 0; i < c->runs[side]; i++)
			ns += m->totals.values[(size_t)TOTAL_CPU * m->run_count +
					       number_of_run(m, (enum comparison_side)side, i)];
		/* samples by time: another rate gives more of them */
		if (c->is_weights)
			base.exposure[side] = c->runs[side];
		else if (ns > 0 && sides[side].count > 0)
			base.exposure[side] = c->runs[side] * (double)sides[side].count / ns;
		if (c->is_normalized)
			base.all[side] = kind[side].count;
	}
	for (int side = 0; side < SIDES; side++) /* a side without any samples is as the other */
		if (base.exposure[side] <= 0)
			base.exposure[side] = base.exposure[!side] / c->runs[!side] * c->runs[side];
	return base;
}

/* Returns the total that the entries of a table are parts of. */
static enum comparison_total total_of_table(int number)
{
	static const enum comparison_total totals[COMPARISON_TABLES] = {
		[COMPARED_KERNELS] = TOTAL_GPU,   [COMPARED_COPIES] = TOTAL_GPU,
		[COMPARED_SITES] = TOTAL_GPU,     [COMPARED_FUNCTIONS] = TOTAL_CPU,
		[COMPARED_WAITS] = TOTAL_WAITING, [COMPARED_CALLS] = TOTAL_API,
		[COMPARED_SHAPES] = TOTAL_GPU,    [COMPARED_PEAK] = TOTAL_PEAK,
		[COMPARED_LEFT] = TOTAL_LEFT,     [COMPARED_ERRORS] = TOTAL_ERRORS};

	return totals[number];
}

static void judge_table(struct made_comparison *made, int number)
{
	struct comparison_table *t = &made->comparison.tables[number];
	const struct amounts *amounts = &made->tables[number].amounts;
	struct change_base base = base_of(made, total_of_table(number));
	uint32_t runs = made->maker.run_count;

	for (uint32_t i = 0; i < t->count; i++) {
		t->entries[i].change = change_of(&base, amounts->values + (size_t)i * runs,
						 amounts->sides + (size_t)i * SIDES);
		t->entries[i].change.unit = comparison_table_unit((enum comparison_tables)number);
	}
}

/* Controls false discoveries among changes that may be chance. `list` is by pointer. */
static void control(struct maker *m, struct change *const *list, uint32_t count)
{
	double *p = malloc((count + 1u) * sizeof(*p));
	uint32_t tested = 0;

	if (!p) {
		m->error = ENOMEM;
		return;
	}
	for (uint32_t i = 0; i < count; i++)
		if (list[i]->has_bound && !list[i]->is_exact)
			p[tested++] = list[i]->p;
	if (significance_control(p, tested) != 0)
		m->error = ENOMEM;
	tested = 0;
	for (uint32_t i = 0; i < count && !m->error; i++)
		if (list[i]->has_bound && !list[i]->is_exact)
			change_judge(list[i], p[tested++]);
	free(p);
}

static void judge_tables(struct made_comparison *made)
{
	struct comparison_table *tables = made->comparison.tables;
	struct change **list;
	uint32_t count = 0;

	for (int i = 0; i < COMPARISON_TABLES; i++) {
		judge_table(made, i);
		count += tables[i].count;
	}
	list = malloc((count + 1u) * sizeof(struct change *));
	if (!list) {
		made->maker.error = ENOMEM;
		return;
	}
	count = 0;
	for (int i = 0; i < COMPARISON_TABLES; i++)
		for (uint32_t at = 0; at < tables[i].count; at++)
			list[count++] = &tables[i].entries[at].change;
	control(&made->maker, list, count);
	free(list);
}

static void finish_table(struct made_comparison *made, int number)
{
	struct comparison_table *t = &made->comparison.tables[number];
	struct making_table *making = &made->tables[number];
	struct maker *m = &made->maker;
	uint32_t *order = malloc((t->count + 1u) * sizeof(*order));
	struct comparison_entry *sorted = malloc((t->count + 1u) * sizeof(*sorted));

	if (!order || !sorted) {
		m->error = ENOMEM;
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
	made->order[number] = order;
	hash_index_release(&making->index);
}

/* The names that each kernel's entry stands for. */
static void name_kernels(struct made_comparison *made)
{
	struct comparison_table *t = &made->comparison.tables[COMPARED_KERNELS];
	struct maker *m = &made->maker;
	uint32_t count = m->kernels.count;
	uint32_t *entries = calloc(count + 1u, sizeof(*entries)); /* by the kernel that names it */

	made->comparison.names = made->names = malloc((count + 1u) * sizeof(*made->names));
	if (!made->names || !entries) {
		m->error = ENOMEM;
		free(entries);
		return;
	}
	for (uint32_t i = 0; i < t->count; i++)
		entries[kernel_matches_find(&m->kernels, t->entries[i].frame->name)] = i;
	for (uint32_t i = count; i-- > 0;) {
		const struct matched_kernel *k = &m->kernels.list[i];
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

static struct run_values no_values(const struct comparison *c)
{
	return (struct run_values){.runs = {c->runs[SIDE_BEFORE], c->runs[SIDE_AFTER]}};
}

struct run_values comparison_total(const struct comparison *comparison, enum comparison_total total)
{
	const struct made_comparison *made = (const void *)comparison;
	const struct maker *m = &made->maker;
	struct run_values v = no_values(comparison);
	const bool is_charged = total == TOTAL_CPU && made->has_charged_cpu;

	v.is_one_value = total == TOTAL_WALL || is_charged;
	memcpy(v.values,
	       is_charged ? made->charged_cpu : m->totals.values + (size_t)total * m->run_count,
	       m->run_count * sizeof(*v.values));
	if (!is_charged)
		memcpy(v.sides, m->totals.sides + (size_t)total * SIDES, sizeof(v.sides));
	return v;
}

/*
 * Makes sums of samples shares of the charged time. The variance is that of a share: a function
 * that has all samples has all the time.
 */
static void charge(const struct made_comparison *made, struct run_values *v)
{
	const struct maker *m = &made->maker;
	const double *sampled = m->totals.values + (size_t)TOTAL_CPU * m->run_count;

	if (!made->has_charged_cpu || made->comparison.is_normalized)
		return;
	for (uint32_t side = 0, at = 0; side < SIDES; side++) {
		double part = 0, whole = 0, scale;

		for (uint32_t i = 0; i < v->runs[side]; i++, at++) {
			double by = sampled[at] > 0 ? made->charged_cpu[at] / sampled[at] : 1;

			v->values[at] *= by;
			part += v->values[at];
			whole += made->charged_cpu[at];
		}
		scale = part < whole ? 1 - part / whole : 0;
		v->sides[side].sampled *= scale;
	}
}

uint32_t comparison_matching(const struct comparison *comparison, enum comparison_tables table,
			     const regex_t *pattern, struct run_values *v)
{
	const struct made_comparison *made = (const void *)comparison;
	const struct comparison_table *t = &comparison->tables[table];
	uint32_t run_count = made->maker.run_count, found = 0;
	struct amounts sum = {.values = v->values, .sides = v->sides};

	*v = no_values(comparison);
	for (uint32_t i = 0; i < t->count; i++) {
		const struct comparison_entry *e = &t->entries[i];
		bool matches = regexec(pattern, e->frame->name, 0, NULL, 0) == 0;

		for (uint32_t n = e->names; n != COMPARISON_NONE && !matches;
		     n = comparison->names[n].next)
			matches =
				regexec(pattern, comparison->names[n].frame->name, 0, NULL, 0) == 0;
		if (!matches)
			continue;
		amounts_move(&sum, 0, &made->tables[table].amounts, made->order[table][i],
			     run_count);
		found++;
	}
	if (table == COMPARED_FUNCTIONS)
		charge(made, v);
	return found;
}

enum frame_match { MATCH_UNKNOWN, MATCHES_NOT, MATCHES_PATTERN };

/* Returns true if the innermost frame, or a function around it, matches. */
static bool has_match(const struct result *r, uint32_t stack, const unsigned char *matches)
{
	bool is_innermost = true;

	for (; stack != RESULT_ROOT; stack = r->stacks[stack].outer, is_innermost = false) {
		uint32_t frame = r->stacks[stack].frame;

		if (matches[frame] == MATCHES_PATTERN &&
		    (is_innermost || digest_is_function(&r->frames[frame])))
			return true;
	}
	return false;
}

static int add_matching_stacks(struct maker *m, struct amounts *sum, const regex_t *pattern,
			       enum comparison_side side, uint32_t run)
{
	const struct result *r = m->results[side][run];
	const double sample = (double)r->totals.sample_ns;
	const struct duration_spreads spreads = {.sample = sample * sample};
	unsigned char *matches = calloc(r->frame_count + 1u, sizeof(*matches));

	if (!matches)
		return -ENOMEM;
	for (uint32_t i = RESULT_ROOT + 1; i < r->stack_count; i++) {
		uint32_t frame = r->stacks[i].frame;
		const struct frame_info *common =
			unnamed_files_frame(&m->unnamed, &r->frames[frame]);

		if (matches[frame] == MATCH_UNKNOWN)
			matches[frame] = regexec(pattern, common->name, 0, NULL, 0) == 0
						 ? MATCHES_PATTERN
						 : MATCHES_NOT;
	}
	for (uint32_t i = 0; i < r->row_count; i++) {
		const struct row *row = &r->rows[i];
		struct amount amount;

		if (row->kind != ROW_CPU ||
		    !has_match(r, result_computing_stack(r, row->stack), matches))
			continue;
		amount = amount_of(m, &spreads, row);
		amount = scaled(m, amount, side, run, TOTAL_CPU);
		amounts_add(m, sum, 0, side, run, &amount);
	}
	free(matches);
	return 0;
}

int comparison_matching_totals(const struct comparison *comparison, const regex_t *pattern,
			       uint32_t *found, struct run_values *v)
{
	struct made_comparison *made = (void *)comparison;
	const struct result *all = &comparison->result;
	struct amounts sum = {.values = v->values, .sides = v->sides, .capacity = 1};
	int error = 0;

	*v = no_values(comparison);
	*found = 0;
	for (uint32_t i = 0; i < all->frame_count; i++)
		*found += digest_is_function(&all->frames[i]) &&
			  regexec(pattern, all->frames[i].name, 0, NULL, 0) == 0;
	for (int side = 0; side < SIDES; side++)
		for (uint32_t i = 0; i < comparison->runs[side] && !error; i++)
			error = add_matching_stacks(&made->maker, &sum, pattern,
						    (enum comparison_side)side, i);
	charge(made, v);
	return error;
}

/* ---- stacks ---- */

static bool frame_equal(const void *records, uint32_t position, const void *key)
{
	const struct frame_info *a = (const struct frame_info *)records + position, *b = key;

	return a->class == b->class && strcmp(a->name, b->name) == 0;
}

#define FRAME_BYTES (2 * sizeof(struct frame_info) + HASH_INDEX_ENTRY_BYTES)

/* Its number in the common result; 0: out of memory, and the error is set. */
static uint32_t add_frame(struct made_comparison *made, const struct frame_info *frame)
{
	struct maker *m = &made->maker;
	uint32_t hash = hash_bytes(frame->name, strlen(frame->name));
	uint32_t at = record_find_equal(&made->frames, hash, frame_equal, frame);

	if (at != RECORD_NONE)
		return at;
	if (!take(m, FRAME_BYTES))
		return 0;
	at = record_add_hashed(&made->frames, hash, frame);
	if (at != RECORD_NONE)
		return at;
	m->error = ENOMEM;
	return 0;
}

struct stack_key {
	uint32_t outer;
	const char *name;
};

/* By name alone, as call_tree.h has it: numbers of stacks are numbers of its nodes. */
static bool stack_equal(const void *records, uint32_t position, const void *key)
{
	const struct made_comparison *made = records;
	const struct stack_info *stack = &made->stacks.list[position];
	const struct stack_key *k = key;

	return stack->outer == k->outer &&
	       strcmp(made->frames.list[stack->frame].name, k->name) == 0;
}

/* Returns the bytes of all that is kept for a stack, in arrays that double. */
static size_t stack_bytes(const struct maker *m)
{
	size_t amounts = m->run_count * sizeof(double) + SIDES * sizeof(struct side_sum);
	size_t kinds = ROW_KINDS * (sizeof(*m->kind_ns) + sizeof(*m->kind_count));

	return 2 * (amounts + kinds + sizeof(struct stack_info)) + 2 * sizeof(struct change) +
	       sizeof(struct row) + HASH_INDEX_ENTRY_BYTES;
}

/* Adds a stack and returns its number; RESULT_ROOT if it cannot be kept, with the error set. */
static uint32_t make_stack(struct made_comparison *made, uint32_t hash, uint32_t outer,
			   uint32_t frame)
{
	struct maker *m = &made->maker;
	uint32_t at;

	if (!take(m, stack_bytes(m)))
		return RESULT_ROOT;
	at = record_add_hashed(&made->stacks, hash, &((struct stack_info){outer, frame}));
	if (at != RECORD_NONE)
		return at;
	m->error = ENOMEM;
	return RESULT_ROOT;
}

static uint32_t add_stack(struct made_comparison *made, uint32_t outer,
			  const struct frame_info *frame)
{
	struct stack_key key = {outer, frame->name};
	uint32_t hash = hash_pair(outer, hash_bytes(frame->name, strlen(frame->name)));
	uint32_t at = hash_index_find(&made->stacks.set.index, hash, stack_equal, made, &key);
	uint32_t number;

	if (at != HASH_INDEX_NONE)
		return at;
	number = add_frame(made, frame);
	return made->maker.error ? RESULT_ROOT : make_stack(made, hash, outer, number);
}

static bool reach_kinds(struct maker *m, uint32_t at)
{
	uint32_t capacity = m->kind_capacity ? m->kind_capacity : 64, old = m->kind_capacity;
	double *ns;
	uint64_t *count;

	if (at < old)
		return true;
	while (capacity <= at)
		capacity *= 2;
	ns = realloc(m->kind_ns, (size_t)capacity * ROW_KINDS * sizeof(*ns));
	if (ns)
		m->kind_ns = ns;
	count = realloc(m->kind_count, (size_t)capacity * ROW_KINDS * sizeof(*count));
	if (count)
		m->kind_count = count;
	if (!ns || !count) {
		m->error = ENOMEM;
		return false;
	}
	memset(ns + (size_t)old * ROW_KINDS, 0, (size_t)(capacity - old) * ROW_KINDS * sizeof(*ns));
	memset(count + (size_t)old * ROW_KINDS, 0,
	       (size_t)(capacity - old) * ROW_KINDS * sizeof(*count));
	m->kind_capacity = capacity;
	return true;
}

static void add_to_stack(struct made_comparison *made, uint32_t at, const struct row *row,
			 const struct amount *amount, enum comparison_side side, uint32_t run,
			 bool is_shown)
{
	struct maker *m = &made->maker;

	amounts_add(m, &m->stacks, at, side, run, amount);
	if (!is_shown || !reach_kinds(m, at))
		return;
	m->kind_ns[(size_t)at * ROW_KINDS + row->kind] += amount->value;
	m->kind_count[(size_t)at * ROW_KINDS + row->kind] += amount->count;
}

static void add_stacks(struct made_comparison *made, const struct result *r, uint32_t *numbers)
{
	numbers[RESULT_ROOT] = RESULT_ROOT;
	for (uint32_t i = RESULT_ROOT + 1; i < r->stack_count && !made->maker.error; i++) {
		const struct stack_info *stack = &r->stacks[i];

		numbers[i] = add_stack(made, numbers[stack->outer],
				       common_frame(&made->maker, &r->frames[stack->frame]));
	}
}

/* "pinned host: load(int)". NULL: out of memory. */
static const char *allocator_name(struct made_comparison *made, uint32_t kind, const char *function)
{
	const char *kept = NULL;
	char *name = NULL;

	if (asprintf(&name, "%s: %s", memory_kind_word(kind), function) < 0)
		return NULL;
	if (take(&made->maker, strlen(name) + 1))
		kept = intern_string(&made->made_names, name);
	free(name);
	return kept;
}

static void add_memory_row(struct made_comparison *made, const struct memory_row *row,
			   uint32_t kind, const struct frame_info *function,
			   struct frame_info *frame, enum comparison_side side, uint32_t run)
{
	struct amount peak = {.value = (double)row->peak_bytes, .count = row->at_peak},
		      left = {.value = (double)row->left_bytes, .count = row->left};

	*frame = *common_frame(&made->maker, function);
	frame->name = allocator_name(made, kind, frame->name);
	frame->short_name = allocator_name(made, kind, frame->short_name);
	if (!frame->name || !frame->short_name) {
		if (!made->maker.error)
			made->maker.error = ENOMEM;
		return;
	}
	if (row->peak_bytes)
		add_common(made, COMPARED_PEAK, frame, side, run, &peak);
	if (row->left_bytes)
		add_common(made, COMPARED_LEFT, frame, side, run, &left);
}

/* By the functions that allocated, each kind of memory by itself. */
static void add_memory_rows(struct made_comparison *made, const struct result *r,
			    enum comparison_side side, uint32_t run)
{
	static const struct frame_info unknown = {
		.class = CLASS_MARK, .name = "[unknown]", .short_name = "[unknown]"};
	const struct result *whole = r->memory_result ? r->memory_result : r;
	const struct memory_use *use = r->memory_use;
	struct frame_info *frames = calloc((use ? use->row_count : 0) + 1u, sizeof(*frames));

	made->allocators[side][run] = frames;
	if (!frames)
		made->maker.error = ENOMEM;
	else if (use)
		take(&made->maker, use->row_count * sizeof(*frames));
	for (uint32_t i = 0; use && i < use->row_count && !made->maker.error; i++) {
		const struct memory_row *row = &use->rows[i];
		const struct frame_info *function = digest_site(whole, row->stack);

		if (row->peak_bytes || row->left_bytes)
			add_memory_row(made, row, use->totals[row->total].kind,
				       function ? function : &unknown, &frames[i], side, run);
	}
}

/* Memory of all kinds, of the whole run; it is known exactly. */
static void add_memory(struct maker *m, const struct memory_use *use, enum comparison_side side,
		       uint32_t run)
{
	struct amount peak = {.count = 0}, left = {.count = 0};

	for (uint32_t i = 0; use && i < use->total_count; i++) {
		peak.value += (double)use->totals[i].peak_bytes;
		left.value += (double)use->totals[i].left_bytes;
		peak.count += use->totals[i].allocations;
		left.count += use->totals[i].left;
	}
	amounts_add(m, &m->totals, TOTAL_PEAK, side, run, &peak);
	amounts_add(m, &m->totals, TOTAL_LEFT, side, run, &left);
}

static void add_run(struct made_comparison *made, enum comparison_side side, uint32_t run,
		    bool is_shown)
{
	struct maker *m = &made->maker;
	const struct result *r = m->results[side][run];
	uint32_t *numbers = malloc((r->stack_count + 1u) * sizeof(*numbers));
	struct amount wall = {.count = 1};
	struct duration_spreads spreads;
	int error = duration_spreads_read(&spreads, r);
	uint64_t from, to;

	if (!numbers)
		error = ENOMEM;
	if (error)
		m->error = error;
	else
		add_stacks(made, r, numbers);
	for (uint32_t i = 0; i < r->row_count && !m->error; i++) {
		const struct row *row = &r->rows[i];
		struct amount amount = amount_of(m, &spreads, row);

		add_row(made, r, row, &amount, side, run);
		amount = scaled(m, amount, side, run, total_of_kind[row->kind]);
		add_to_stack(made, numbers[row->stack], row, &amount, side, run, is_shown);
	}
	if (counts_calls(r))
		add_all_calls(made, r, side, run);
	else
		for (uint32_t i = 0; spreads.calls && i < r->stack_count && !m->error; i++)
			add_calls(made, r, &spreads, i, side, run);
	result_window(r, &from, &to);
	wall.value = (double)(to - from);
	amounts_add(m, &m->totals, TOTAL_WALL, side, run, &wall);
	add_memory(m, r->memory_use, side, run);
	add_memory_rows(made, r, side, run);
	if (made->comparison.has_errors && !m->error)
		add_errors(made, r, side, run);
	if (made->has_shapes && !m->error)
		add_shapes(made, r, &spreads, side, run);
	duration_spreads_release(&spreads);
	free(numbers);
}

/* ---- all of it ---- */

/* By stack; NULL: out of memory, and the error is set. */
static struct change *change_stacks(struct made_comparison *made)
{
	uint32_t count = made->stacks.count;
	struct change *changes = malloc(count * sizeof(*changes));
	struct change **list = malloc(count * sizeof(*list));
	struct change_base base = base_of(made, TOTAL_CPU);
	struct maker *m = &made->maker;

	if (made->comparison.is_normalized && made->comparison.is_weights)
		for (int side = 0; side < SIDES; side++) /* stacks have all kinds of weights */
			base.all[side] += m->totals.sides[(size_t)TOTAL_GPU * SIDES + side].count;
	if (!changes || !list)
		m->error = ENOMEM;
	for (uint32_t i = 0; changes && list && i < count; i++) {
		changes[i] = change_of(&base, m->stacks.values + (size_t)i * m->run_count,
				       m->stacks.sides + (size_t)i * SIDES);
		list[i] = &changes[i];
	}
	if (changes && list)
		control(m, list, count);
	free(list);
	return changes;
}

/* A stack's number is above that of the one around it. */
static void sum_up(struct made_comparison *made)
{
	uint32_t count = made->stacks.count;
	struct maker *m = &made->maker;

	if (!amounts_reach(m, &m->stacks, count - 1) || !reach_kinds(m, count - 1))
		return;
	made->comparison.own = made->own = change_stacks(made);
	for (uint32_t i = count - 1; i > RESULT_ROOT; i--)
		amounts_move(&m->stacks, made->stacks.list[i].outer, &m->stacks, i, m->run_count);
	made->comparison.changes = made->changes = change_stacks(made);
}

/* The rows of the side that is shown: means of its runs, in whole ns. */
static void make_rows(struct made_comparison *made, uint32_t runs)
{
	struct maker *m = &made->maker;
	struct result *r = &made->comparison.result;
	uint32_t capacity = 0;

	for (uint32_t i = 0; i < made->stacks.count && !m->error; i++) {
		for (uint32_t kind = 0; kind < ROW_KINDS; kind++) {
			double ns = m->kind_ns[(size_t)i * ROW_KINDS + kind] / runs;
			uint64_t count = m->kind_count[(size_t)i * ROW_KINDS + kind] / runs;

			if (ns < 0.5 && count == 0)
				continue;
			if (!array_make_room(&made->rows, r->row_count, &capacity,
					     sizeof(*made->rows))) {
				m->error = ENOMEM;
				return;
			}
			made->rows[r->row_count++] = (struct row){.kind = kind,
								  .stack = i,
								  .count = count,
								  .ns = (uint64_t)(ns + 0.5)};
		}
	}
}

static void make_totals(struct made_comparison *made)
{
	struct maker *m = &made->maker;
	struct change_base base;

	base = base_of(made, TOTAL_CPU);
	base.all[SIDE_BEFORE] = base.all[SIDE_AFTER] = 0; /* totals are compared as they are */
	for (int i = 0; i < COMPARISON_TOTALS; i++) {
		struct change *total = &made->comparison.totals[i];

		*total = change_of(&base, m->totals.values + (size_t)i * m->run_count,
				   m->totals.sides + (size_t)i * SIDES);
		total->unit = comparison_total_unit((enum comparison_total)i);
	}
	/* one run does not show how much the next would differ */
	if (m->run_count == SIDES) {
		made->comparison.totals[TOTAL_WALL].has_bound = false;
		change_judge(&made->comparison.totals[TOTAL_WALL], 1);
	}
}

/* Returns the total of a kind in a run, before anything is scaled. */
static double unscaled_total(const struct result *r, enum comparison_total total,
			     const struct duration_spreads *spreads)
{
	double ns = 0;

	for (uint32_t i = 0; i < r->row_count && total != TOTAL_API; i++)
		if (total_of_kind[r->rows[i].kind] == total)
			ns += (double)r->rows[i].ns;
	if (total != TOTAL_API)
		return ns;
	if (!counts_calls(r)) {
		for (uint32_t i = 0; spreads->calls && i < r->stack_count; i++)
			ns += spreads->calls[i].mean * (double)spreads->calls[i].count;
		return ns;
	}
	for (uint32_t i = 0; i < r->totals.ledger->api.count; i++) {
		const struct api_call *call = r->totals.ledger->api.list[i];

		ns += call->nested < call->calls && call->nested_ns < call->ns
			      ? (double)(call->ns - call->nested_ns)
			      : 0;
	}
	return ns;
}

/* Scales the times of each run to the mean total of those after. */
static void set_scales(struct made_comparison *made)
{
	static const enum comparison_total kinds[] = {TOTAL_GPU, TOTAL_CPU, TOTAL_WAITING,
						      TOTAL_IDLE, TOTAL_API};
	struct maker *m = &made->maker;
	const uint32_t *runs = made->comparison.runs;
	double mean[COMPARISON_TOTALS] = {0};

	for (uint32_t i = 0; i < m->run_count; i++)
		for (int k = 0; k < COMPARISON_TOTALS; k++)
			m->scale[i][k] = 1;
	for (uint32_t i = 0; i < m->run_count && made->comparison.is_normalized; i++) {
		bool is_before = i < runs[SIDE_BEFORE];
		const struct result *r = is_before ? m->results[SIDE_BEFORE][i]
						   : m->results[SIDE_AFTER][i - runs[SIDE_BEFORE]];
		struct duration_spreads spreads;
		int error = duration_spreads_read(&spreads, r);

		if (error)
			m->error = error;
		for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]) && !error; k++) {
			double ns = unscaled_total(r, kinds[k], &spreads);

			m->scale[i][kinds[k]] = ns;
			mean[kinds[k]] += is_before ? 0 : ns / runs[SIDE_AFTER];
		}
		duration_spreads_release(&spreads);
	}
	for (uint32_t i = 0; i < m->run_count && made->comparison.is_normalized; i++)
		for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
			double *scale = &m->scale[i][kinds[k]];

			*scale = *scale > 0 && mean[kinds[k]] > 0 ? mean[kinds[k]] / *scale : 1;
		}
}

#define LENGTH_RATIO 1.2 /* a program that one function made slower is of about the same length */

bool comparison_differs_in_length(const struct comparison *c, enum comparison_total *total)
{
	static const enum comparison_total totals[] = {TOTAL_CPU, TOTAL_GPU, TOTAL_WALL};

	for (size_t i = 0; i < sizeof(totals) / sizeof(totals[0]); i++) {
		const struct change *change = &c->totals[totals[i]];

		*total = totals[i];
		if (change->before <= 0 || change->after <= 0 ||
		    (change->has_bound && !change->is_significant))
			continue;
		if (fmax(change->before, change->after) >
		    LENGTH_RATIO * fmin(change->before, change->after))
			return true;
	}
	return false;
}

/* Returns 0 if it is not known, or the result has a part of the run. */
static double charged_cpu(const struct result *r)
{
	const struct totals *t = &r->totals;
	const struct measure *m = &t->measure;

	if (!t->ledger || t->shown || m->ranges || !m->samples_cpu)
		return 0;
	if (t->ledger->cpu.used_ns)
		return (double)t->ledger->cpu.used_ns;
	return m->delay_ns || m->duration_ns || m->last_ns ? 0 : (double)t->command_cpu_ns;
}

static void note_charged_cpu(struct made_comparison *made)
{
	uint32_t count = 0;

	made->has_charged_cpu = true;
	for (int side = 0; side < SIDES; side++)
		for (uint32_t i = 0; i < made->comparison.runs[side]; i++) {
			made->charged_cpu[count] = charged_cpu(made->maker.results[side][i]);
			made->has_charged_cpu &= made->charged_cpu[count++] > 0;
		}
}

static void compare_all(struct made_comparison *made, enum comparison_side shown)
{
	struct maker *m = &made->maker;

	make_stack(made, 0, UINT32_MAX, UINT32_MAX); /* the root */
	if (m->error)
		return;
	match_kernels(m);
	note_unnamed(m);
	made->comparison.has_errors = all_count_calls(m);
	made->has_shapes = all_have_shapes(m);
	set_scales(made);
	note_charged_cpu(made);
	for (int side = 0; side < SIDES; side++)
		for (uint32_t i = 0; i < made->comparison.runs[side] && !m->error; i++)
			add_run(made, (enum comparison_side)side, i, (int)shown == side);
	if (!m->error && amounts_reach(m, &m->totals, COMPARISON_TOTALS - 1))
		judge_tables(made);
	for (int i = 0; i < COMPARISON_TABLES && !m->error; i++)
		finish_table(made, i);
	if (!m->error)
		name_kernels(made);
	if (!m->error)
		make_totals(made);
	if (!m->error)
		sum_up(made);
	if (!m->error)
		make_rows(made, made->comparison.runs[shown]);
}

/* Frees what only making the comparison needs. */
static void release_maker(struct maker *m)
{
	kernel_matches_release(&m->kernels);
	amounts_release(&m->stacks);
	free(m->kind_ns);
	free(m->kind_count);
}

struct comparison *comparison_new(const struct result *const *before, uint32_t before_count,
				  const struct result *const *after, uint32_t after_count,
				  const struct comparison_options *options)
{
	struct made_comparison *made = calloc(1, sizeof(*made));
	struct comparison *c;
	int error;

	if (!made)
		return NULL;
	c = &made->comparison;
	c->is_weights = options->is_weights;
	c->is_normalized = options->is_normalized;
	c->shown = options->shown;
	c->first[SIDE_BEFORE] = &before[0]->totals;
	c->first[SIDE_AFTER] = &after[0]->totals;
	c->runs[SIDE_BEFORE] = before_count;
	c->runs[SIDE_AFTER] = after_count;
	made->maker = (struct maker){.comparison = c,
				     .run_count = before_count + after_count,
				     .memory = options->memory};
	memcpy(made->maker.results[SIDE_BEFORE], before, before_count * sizeof(*before));
	memcpy(made->maker.results[SIDE_AFTER], after, after_count * sizeof(*after));
	c->result = options->shown == SIDE_AFTER ? *after[0] : *before[0];
	c->result.timeline = NULL;
	c->result.row_count = 0;
	compare_all(made, options->shown);
	c->result.frames = made->frames.list;
	c->result.frame_count = made->frames.count;
	c->result.stacks = made->stacks.list;
	c->result.stack_count = made->stacks.count;
	c->result.rows = made->rows;
	c->result.sample_stacks = c->result.call_stacks = NULL;
	c->result.record_stack_count = c->result.stack_count;
	error = made->maker.error;
	release_maker(&made->maker);
	hash_index_release(&made->frames.set.index);
	hash_index_release(&made->stacks.set.index);
	if (!error)
		return c;
	comparison_free(c);
	errno = error;
	return NULL;
}

void comparison_free(struct comparison *comparison)
{
	struct made_comparison *made = (void *)comparison;

	if (!made)
		return;
	for (int i = 0; i < COMPARISON_TABLES; i++) {
		free(made->comparison.tables[i].entries);
		free(made->order[i]);
		hash_index_release(&made->tables[i].index);
		amounts_release(&made->tables[i].amounts);
	}
	amounts_release(&made->maker.totals);
	allowance_return(made->maker.memory, made->maker.taken);
	unnamed_files_release(&made->maker.unnamed);
	for (int side = 0; side < SIDES; side++)
		for (uint32_t i = 0; i < COMPARISON_RUNS_MAX; i++) {
			free(made->calls[side][i]);
			free(made->errors[side][i]);
			free(made->shapes[side][i]);
			free(made->allocators[side][i]);
		}
	intern_release(&made->made_names);
	free(made->names);
	record_set_release(&made->frames.set);
	record_set_release(&made->stacks.set);
	free(made->rows);
	free(made->changes);
	free(made->own);
	free(made);
}
