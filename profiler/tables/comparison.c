// SPDX-License-Identifier: MIT
#include "profiler/tables/comparison.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/tables/comparison_private.h"
#include "profiler/tables/gpu_courses.h"
#include "profiler/tables/significance.h"

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

enum change_unit comparison_total_unit(enum comparison_total total)
{
	static const enum change_unit units[COMPARISON_TOTALS] = {[TOTAL_PEAK] = CHANGE_OF_BYTES,
								  [TOTAL_LEFT] = CHANGE_OF_BYTES,
								  [TOTAL_ERRORS] =
									  CHANGE_OF_ERRORS};

	return units[total];
}

/* ---- shared by the files of a comparison ---- */

bool comparison_take(struct made_comparison *made, size_t bytes)
{
	if (!quota_take(made->memory, bytes)) {
		comparison_fail(made, E2BIG);
		return false;
	}
	made->taken += bytes;
	return true;
}

void comparison_add(struct made_comparison *made, struct amounts *amounts, uint32_t at,
		    const struct compared_run *run, const struct amount *amount)
{
	if (!amounts_add(amounts, at, run->side, run->number, amount))
		comparison_fail(made, ENOMEM);
}

struct amount comparison_amount(const struct made_comparison *made,
				const struct duration_spreads *s, const struct row *row)
{
	struct amount amount = {.value = (double)row->ns, .count = row->count};

	if (row->ns == 0)
		return amount;
	amount.is_estimated = row->count == 0;
	if (made->comparison.is_weights)
		amount.sampled = duration_spread_variance(NULL, 1, row->count, amount.value);
	else if (row->kind == ROW_CPU) /* at least the variance of one whole sample, for a cut may
					  shorten samples; time without samples varies as samples */
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

enum comparison_total comparison_total_of_row(uint32_t kind)
{
	static const enum comparison_total totals[ROW_KINDS] = {[ROW_CPU] = TOTAL_CPU,
								[ROW_GPU] = TOTAL_GPU,
								[ROW_WAIT] = TOTAL_WAITING,
								[ROW_CALL] = TOTAL_WAITING,
								[ROW_IDLE] = TOTAL_IDLE};

	return totals[kind];
}

struct amount comparison_scaled(struct amount amount, const struct compared_run *run,
				enum comparison_total total)
{
	double scale = run->scale[total];

	amount.value *= scale;
	amount.sampled *= scale * scale;
	amount.measured *= scale * scale;
	return amount;
}

struct change_base comparison_base(const struct made_comparison *made, enum comparison_total total)
{
	const struct comparison *c = &made->comparison;
	const struct side_sum *sides = amounts_sides(&made->totals, TOTAL_CPU);
	const struct side_sum *kind = amounts_sides(&made->totals, total);
	struct change_base base = {.runs = {c->runs[SIDE_BEFORE], c->runs[SIDE_AFTER]}};
	double ns[SIDES] = {0};

	for (uint32_t i = 0; i < made->run_count; i++)
		ns[made->runs[i].side] += amounts_values(&made->totals, TOTAL_CPU)[i];
	for (int side = 0; side < SIDES; side++) {
		/* samples per time, which depends on the rate */
		if (c->is_weights)
			base.exposure[side] = c->runs[side];
		else if (ns[side] > 0 && sides[side].count > 0)
			base.exposure[side] = c->runs[side] * (double)sides[side].count / ns[side];
		if (c->is_normalized)
			base.all[side] = kind[side].count;
	}
	for (int side = 0; side < SIDES; side++) /* without samples: as the other side */
		if (base.exposure[side] <= 0)
			base.exposure[side] = base.exposure[!side] / c->runs[!side] * c->runs[side];
	return base;
}

void comparison_control(struct made_comparison *made, struct change *const *list, uint32_t count)
{
	double *p = malloc((count + 1u) * sizeof(*p));
	uint32_t tested = 0;

	if (!p) {
		comparison_fail(made, ENOMEM);
		return;
	}
	for (uint32_t i = 0; i < count; i++)
		if (list[i]->has_bound && !list[i]->is_exact)
			p[tested++] = list[i]->p;
	if (significance_control(p, tested) != 0)
		comparison_fail(made, ENOMEM);
	tested = 0;
	for (uint32_t i = 0; i < count && !made->error; i++)
		if (list[i]->has_bound && !list[i]->is_exact)
			change_judge(list[i], p[tested++]);
	free(p);
}

/* ---- names on both sides ---- */

/* Notes kernels and unnamed functions, before anything is added. */
static void note_names(struct made_comparison *made)
{
	for (uint32_t i = 0; i < made->run_count; i++) {
		const struct result *r = made->runs[i].result;

		if (!kernel_matches_note(&made->kernels, r, made->runs[i].side))
			comparison_fail(made, ENOMEM);
		for (uint32_t j = RESULT_ROOT + 1; j < r->stack_count; j++)
			if (!unnamed_files_note(&made->unnamed, &r->frames[r->stacks[j].frame]))
				comparison_fail(made, ENOMEM);
	}
	if (!kernel_matches_finish(&made->kernels))
		comparison_fail(made, ENOMEM);
}

const struct frame_info *comparison_common_frame(const struct made_comparison *made,
						 const struct frame_info *frame)
{
	const struct matched_kernel *kernels = made->kernels.list;
	uint32_t at = frame->class == CLASS_GPU_KERNEL
			      ? kernel_matches_find(&made->kernels, frame->name)
			      : RECORD_NONE;

	if (at != RECORD_NONE)
		return kernels[kernels[at].group].frame;
	return unnamed_files_frame(&made->unnamed, frame);
}

/* ---- data that all runs have ---- */

bool comparison_counts_calls(const struct result *r)
{
	return r->totals.measure.api && r->totals.ledger && !r->totals.shown;
}

/* Returns the charged CPU time, ns. Returns 0 if unknown, or for a part of a run. */
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

/*
 * Notes the tables that all runs have. Otherwise an error or a shape would be new or gone only
 * because a run did not ask for it.
 */
static void note_what_all_have(struct made_comparison *made)
{
	made->comparison.has_errors = made->has_shapes = made->has_charged_cpu = true;
	for (uint32_t i = 0; i < made->run_count; i++) {
		const struct result *r = made->runs[i].result;

		made->runs[i].charged_cpu = charged_cpu(r);
		made->has_charged_cpu &= made->runs[i].charged_cpu > 0;
		made->comparison.has_errors &= comparison_counts_calls(r);
		made->has_shapes &= r->totals.measure.launch_shapes && r->timeline;
	}
}

/* ---- scales ---- */

/* Returns the total of a kind in a run, before anything is scaled. */
static double unscaled_total(const struct result *r, enum comparison_total total,
			     const struct duration_spreads *spreads)
{
	double ns = 0;

	for (uint32_t i = 0; i < r->row_count && total != TOTAL_API; i++)
		if (comparison_total_of_row(r->rows[i].kind) == total)
			ns += (double)r->rows[i].ns;
	if (total != TOTAL_API)
		return ns;
	if (!comparison_counts_calls(r)) {
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
	const size_t count = sizeof(kinds) / sizeof(kinds[0]);
	double mean[COMPARISON_TOTALS] = {0};

	for (uint32_t i = 0; i < made->run_count; i++)
		for (int k = 0; k < COMPARISON_TOTALS; k++)
			made->runs[i].scale[k] = 1;
	if (!made->comparison.is_normalized)
		return;
	for (uint32_t i = 0; i < made->run_count; i++) {
		struct compared_run *run = &made->runs[i];
		struct duration_spreads spreads;
		int error = duration_spreads_read(&spreads, run->result);

		if (error)
			comparison_fail(made, error);
		for (size_t k = 0; k < count && !error; k++) {
			double ns = unscaled_total(run->result, kinds[k], &spreads);

			run->scale[kinds[k]] = ns;
			if (run->side == SIDE_AFTER)
				mean[kinds[k]] += ns / made->comparison.runs[SIDE_AFTER];
		}
		duration_spreads_release(&spreads);
	}
	for (uint32_t i = 0; i < made->run_count; i++)
		for (size_t k = 0; k < count; k++) {
			double *scale = &made->runs[i].scale[kinds[k]];

			*scale = *scale > 0 && mean[kinds[k]] > 0 ? mean[kinds[k]] / *scale : 1;
		}
}

/* ---- totals ---- */

static void make_totals(struct made_comparison *made)
{
	struct change_base base = comparison_base(made, TOTAL_CPU);

	base.all[SIDE_BEFORE] = base.all[SIDE_AFTER] = 0; /* totals are compared as amounts */
	for (uint32_t i = 0; i < COMPARISON_TOTALS; i++) {
		struct change *total = &made->comparison.totals[i];

		*total = change_of(&base, amounts_values(&made->totals, i),
				   amounts_sides(&made->totals, i));
		total->unit = comparison_total_unit((enum comparison_total)i);
	}
	/* one run shows no spread between runs */
	if (made->run_count == SIDES) {
		made->comparison.totals[TOTAL_WALL].has_bound = false;
		change_judge(&made->comparison.totals[TOTAL_WALL], 1);
	}
}

#define LENGTH_RATIO 1.2 /* a smaller ratio may be one slower function */

bool comparison_differs_in_length(const struct comparison *c, enum comparison_total *total)
{
	static const enum comparison_total totals[] = {TOTAL_CPU, TOTAL_GPU, TOTAL_WALL};

	for (size_t i = 0; !c->is_of_steps && i < sizeof(totals) / sizeof(totals[0]); i++) {
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

/* ---- the comparison ---- */

static void add_run(struct made_comparison *made, struct compared_run *run)
{
	const struct result *r = run->result;
	uint32_t *numbers = malloc((r->stack_count + 1u) * sizeof(*numbers));
	struct amount wall = {.count = 1};
	int error = duration_spreads_read(&run->spreads, r);
	uint64_t from, to;

	if (!numbers)
		error = ENOMEM;
	if (error)
		comparison_fail(made, error);
	else
		comparison_add_stacks(made, run, numbers);
	for (uint32_t i = 0; i < r->row_count && !made->error; i++) {
		const struct row *row = &r->rows[i];
		struct amount amount = comparison_amount(made, &run->spreads, row);

		comparison_add_row(made, run, row, &amount);
		amount = comparison_scaled(amount, run, comparison_total_of_row(row->kind));
		comparison_add_to_stack(made, run, numbers[row->stack], row, &amount);
	}
	result_time_range(r, &from, &to);
	wall.value = (double)(to - from);
	comparison_add(made, &made->totals, TOTAL_WALL, run, &wall);
	if (!made->error)
		comparison_add_tables(made, run);
	duration_spreads_release(&run->spreads);
	free(numbers);
}

static void compare_all(struct made_comparison *made)
{
	comparison_begin_stacks(made);
	if (made->error)
		return;
	note_names(made);
	note_what_all_have(made);
	set_scales(made);
	for (uint32_t i = 0; i < made->run_count && !made->error; i++)
		add_run(made, &made->runs[i]);
	if (!amounts_reach(&made->totals, COMPARISON_TOTALS - 1))
		comparison_fail(made, ENOMEM);
	if (!made->error)
		comparison_finish_tables(made);
	if (made->error)
		return;
	make_totals(made);
	comparison_finish_stacks(made);
}

static void take_runs(struct made_comparison *made, enum comparison_side side,
		      const struct result *const *results, uint32_t count)
{
	struct comparison *c = &made->comparison;

	c->first[side] = &results[0]->totals;
	c->sm_mhz[side] = gpu_courses_busy_mhz(results, count);
	c->runs[side] = count;
	if (side == c->shown)
		c->result = *results[0];
	for (uint32_t i = 0; i < count; i++, made->run_count++)
		made->runs[made->run_count] = (struct compared_run){
			.result = results[i], .side = side, .number = made->run_count};
}

/* Completes the common result. */
static void show_result(struct made_comparison *made)
{
	struct result *r = &made->comparison.result;

	r->frames = made->frames.list;
	r->frame_count = made->frames.count;
	r->stacks = made->stacks.list;
	r->stack_count = r->record_stack_count = made->stacks.count;
	r->rows = made->rows;
	r->sample_stacks = r->call_stacks = NULL;
}

/* Frees memory that only making the comparison needs. */
static void release_making(struct made_comparison *made)
{
	kernel_matches_release(&made->kernels);
	amounts_release(&made->stack_amounts);
	record_set_release(&made->kinds.set);
	hash_index_release(&made->frames.set.index);
	hash_index_release(&made->stacks.set.index);
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
	c->is_of_steps = options->is_of_steps;
	c->shown = options->shown;
	made->memory = options->memory;
	take_runs(made, SIDE_BEFORE, before, before_count);
	take_runs(made, SIDE_AFTER, after, after_count);
	made->totals.run_count = made->stack_amounts.run_count = made->row_amounts.run_count =
		made->run_count;
	for (int i = 0; i < COMPARISON_TABLES; i++)
		made->tables[i].amounts.run_count = made->run_count;
	c->result.timeline = NULL;
	c->result.findings = NULL; /* are of one run */
	c->result.row_count = c->result.place_count = c->result.device_count = 0;
	c->result.process_count = c->result.thread_count = 0;
	compare_all(made);
	show_result(made);
	error = made->error;
	release_making(made);
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
		free(made->tables[i].order);
		hash_index_release(&made->tables[i].index);
		amounts_release(&made->tables[i].amounts);
	}
	amounts_release(&made->totals);
	quota_return(made->memory, made->taken);
	unnamed_files_release(&made->unnamed);
	for (struct made_frame *frame = made->made_frames, *next; frame; frame = next) {
		next = frame->next;
		free(frame);
	}
	intern_release(&made->made_names);
	free(made->names);
	record_set_release(&made->frames.set);
	record_set_release(&made->stacks.set);
	amounts_release(&made->row_amounts);
	free(made->all_rows);
	free(made->rows);
	free(made->changes);
	free(made->own);
	free(made);
}
