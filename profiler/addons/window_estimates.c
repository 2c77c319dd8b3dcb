// SPDX-License-Identifier: MIT
#include "profiler/addons/window_estimates.h"

#include <math.h>
#include <stdlib.h>
#include "cupti_trace/wire/gpu_work.h"
#include "profiler/addons/batch_means.h"
#include "profiler/model/estimates.h"
#include "profiler/model/work_names.h"
#include "symbolize/util/record_set.h"

struct kernel_sum {
	const char *name; /* interned, or a literal with one address */
	struct batch_sum sum;
};

struct stack_sum {
	struct stack_id stack;
	struct batch_sum sum;
};

struct estimates {
	const struct addon_parts *parts;
	struct batch_axis axis;
	struct batch_sum all;
	/* calls that launch, and lengths: of windows, and of counting without records */
	struct batch_sum recorded_calls, counted_calls;
	double recorded_ns, counted_ns, operations;
	uint64_t period_ns; /* begin of the last window's period */
	struct slowdown {
		double factor;                  /* calls without records, for one with */
		double error;                   /* error of its logarithm, if it is fixed */
		double of_counted, of_recorded; /* derivatives of its logarithm, or 0 */
	} slowdown;
	RECORD_SET(struct kernel_sum) kernels;
	RECORD_SET(struct stack_sum) stacks;
};

static bool is_wanted(const struct addon_parts *parts)
{
	return parts->measure->budget != 0;
}

static void *begin(const struct addon_parts *parts)
{
	struct estimates *e = calloc(1, sizeof(*e));

	if (e)
		e->parts = parts;
	return e;
}

static void release(void *addon)
{
	struct estimates *e = addon;

	record_set_release(&e->kernels.set);
	record_set_release(&e->stacks.set);
	free(e);
}

/* ---- input ---- */

static void pass(struct estimates *e, struct timeline_record record)
{
	record.kind = NOTE_ESTIMATE;
	profile_sink_add(e->parts->sink,
			 &(struct profile_item){.record = record, .flags = ITEM_BAD_TIME});
}

/* Kinds of notes, by `correlation`. Each result (--every) has the windows of its own time. */
enum estimate_note {
	/* `graph_node` is the name, `bytes` the time of the launch, `work` what it represents */
	NOTE_OF_OPERATION,
	NOTE_OF_WINDOW,   /* `bytes` is the begin of its period, `duration_ns` the period */
	NOTE_OF_RECORDED, /* `bytes` are calls in `duration_ns`, `work` what they represent */
	NOTE_OF_COUNTED,
};

static int take_event(void *addon, uint32_t process, const struct gpu_event *event,
		      const char *kernel)
{
	const struct gpu_event_window *w = &event->window;
	const struct gpu_event_window_end *end = &event->window_end;
	struct estimates *e = addon;

	(void)process;
	(void)kernel;
	if (event->type == GPU_EVENT_WINDOW)
		pass(e, (struct timeline_record){.correlation = NOTE_OF_WINDOW,
						 .bytes = w->period_from_ns,
						 .duration_ns = w->period_ns});
	if (event->type != GPU_EVENT_WINDOW_END)
		return 0;
	pass(e, (struct timeline_record){.correlation = NOTE_OF_RECORDED,
					 .bytes = end->recorded_calls,
					 .duration_ns = end->recorded_ns,
					 .work = end->represents});
	pass(e, (struct timeline_record){.correlation = NOTE_OF_COUNTED,
					 .bytes = end->counted_calls,
					 .duration_ns = end->counted_ns,
					 .work = end->represents});
	return 0;
}

static void take_operation(void *addon, const struct addon_operation *operation)
{
	const struct gpu_operation *o = operation->operation;
	const char *name = o->work == GPU_WORK_KERNEL ? o->name : work_frame(o->work);

	pass(addon, (struct timeline_record){
			    .correlation = NOTE_OF_OPERATION,
			    .duration_ns = o->bad_time ? 0 : o->duration_ns,
			    .bytes = operation->launched_ns ? operation->launched_ns : o->start_ns,
			    .graph_node = (uint64_t)(uintptr_t)name,
			    .stack = operation->stack,
			    .work = operation->represents});
}

/* Adds to the sum of a record, which is added if it is missing and there is room. */
#define ADD_TO(e, set, key, record, time_ns, amount)                                          \
	do {                                                                                  \
		uint32_t at = record_find(&(set), &(key));                                    \
		if (at == RECORD_NONE && (set).count < ESTIMATES_MAX &&                       \
		    quota_take((e)->parts->passing, sizeof(record) + HASH_INDEX_ENTRY_BYTES)) \
			at = record_add(&(set), &(key), &(record));                           \
		if (at != RECORD_NONE)                                                        \
			batch_sum_add(&(set).list[at].sum, &(e)->axis, time_ns, amount);      \
		else                                                                          \
			(e)->parts->sink->ledger->bounds.refused++;                           \
	} while (0)

static void add_operation(struct estimates *e, const struct timeline_record *r)
{
	const struct kernel_sum kernel = {.name = (const char *)(uintptr_t)r->graph_node};
	const struct stack_sum stack = {.stack = r->stack};
	double amount = (double)r->duration_ns * r->work;

	e->operations += r->work;
	batch_sum_add(&e->all, &e->axis, r->bytes, amount);
	ADD_TO(e, e->kernels, kernel.name, kernel, r->bytes, amount);
	ADD_TO(e, e->stacks, stack.stack, stack, r->bytes, amount);
}

static void take_note(void *addon, const struct profile_item *note)
{
	struct estimates *e = addon;
	const struct timeline_record *r = &note->record;

	switch (r->correlation) {
	case NOTE_OF_OPERATION:
		add_operation(e, r);
		break;
	case NOTE_OF_WINDOW:
		batch_axis_note(&e->axis, r->bytes, r->duration_ns);
		e->period_ns = r->bytes;
		break;
	case NOTE_OF_RECORDED:
		e->recorded_ns += (double)r->duration_ns * r->work;
		batch_sum_add(&e->recorded_calls, &e->axis, e->period_ns,
			      (double)r->bytes * r->work);
		break;
	default:
		e->counted_ns += (double)r->duration_ns * r->work;
		batch_sum_add(&e->counted_calls, &e->axis, e->period_ns,
			      (double)r->bytes * r->work);
	}
}

static void visit(void *addon, const struct id_visitor *visitor)
{
	struct estimates *e = addon;

	for (uint32_t i = 0; i < e->stacks.count; i++)
		visit_stack(visitor, &e->stacks.list[i].stack);
	record_reindex(&e->stacks, struct stack_id);
}

/* ---- the tables ---- */

static uint64_t whole_ns(double ns)
{
	return ns <= 0 ? 0 : ns >= 0x1p63 ? UINT64_C(1) << 63 : (uint64_t)llround(ns);
}

/*
 * Finds how much less the program launched while it was recorded. It is never faster then, and
 * loses at most RECORD_MOST_NS for each record: so a program with few launches has no factor of
 * chance.
 */
#define RECORD_MOST_NS 3000
#define SLOWDOWN_MOST 2.5
_Static_assert((int)SLOWDOWN_MOST < (int)ESTIMATES_MOST_FACTOR, "sums have room");

static struct slowdown find_slowdown(struct estimates *e)
{
	double recorded = batch_sum_total(&e->recorded_calls);
	double counted = batch_sum_total(&e->counted_calls), most, factor, error;

	if (recorded <= 0 || counted <= 0 || e->recorded_ns <= 0 || e->counted_ns <= 0)
		return (struct slowdown){.factor = 1};
	/* calls that were counted, for those in windows; the time of these is small */
	factor = counted / e->counted_ns / (recorded / e->recorded_ns);
	most = fmin(1 + e->operations * RECORD_MOST_NS / e->recorded_ns, SLOWDOWN_MOST);
	if (factor >= 1 && factor <= most)
		return (struct slowdown){factor, 0, 1 / counted, -1 / recorded};
	error = batch_error(&e->axis,
			    (struct batch_term[]){{&e->counted_calls, 1 / counted},
						  {&e->recorded_calls, -1 / recorded}},
			    2);
	return (struct slowdown){.factor = factor < 1 ? 1 : most, .error = fmin(error, most - 1)};
}

/* Returns a number rounded to three decimals. */
static double thousandths(double number)
{
	return round(number * 1000) / 1000;
}

struct estimate {
	double ns, error_ns, most_ns; /* `error_ns` 0: unknown */
};

static struct estimate estimate_of(struct estimates *e, struct batch_sum *sum)
{
	const struct slowdown *s = &e->slowdown;
	struct estimate out = {.ns = batch_sum_total(sum) * s->factor};
	double error = batch_error(&e->axis,
				   (struct batch_term[]){
					   {sum, s->factor},
					   {&e->counted_calls, out.ns * s->of_counted},
					   {&e->recorded_calls, out.ns * s->of_recorded},
				   },
				   3);

	if (sum->windows >= BATCH_MEANS_LEAST_WINDOWS && error >= 0)
		out.error_ns = hypot(error, out.ns * fmax(s->error, 0));
	out.most_ns = out.error_ns > 0 ? out.ns + out.error_ns : batch_sum_bound(sum) * s->factor;
	return out;
}

static void add_kernel(struct estimates *e, const char *name, struct batch_sum *sum)
{
	struct estimate estimate = estimate_of(e, sum);
	double all = batch_sum_total(&e->all), share = all > 0 ? batch_sum_total(sum) / all : 0;
	double error = batch_error(&e->axis, (struct batch_term[]){{sum, 1}, {&e->all, -share}}, 2);
	const struct kernel_estimate row = {.kernel = name,
					    .ns = whole_ns(estimate.ns),
					    .error_ns = whole_ns(estimate.error_ns),
					    .most_ns = whole_ns(estimate.most_ns),
					    .share = thousandths(100 * share),
					    .share_error = estimate.error_ns > 0 && all > 0
								   ? thousandths(100 * error / all)
								   : 0,
					    .windows = sum->windows};

	result_tables_count(e->parts->tables, &kernel_estimates_table, &row,
			    e->parts->sink->ledger);
}

static void add_stack(struct estimates *e, struct stack_sum *s)
{
	struct estimate estimate = estimate_of(e, &s->sum);
	const struct stack_estimate row = {.stack = s->stack.number,
					   .ns = whole_ns(estimate.ns),
					   .error_ns = whole_ns(estimate.error_ns),
					   .most_ns = whole_ns(estimate.most_ns),
					   .windows = s->sum.windows};

	result_tables_count(e->parts->tables, &stack_estimates_table, &row, e->parts->sink->ledger);
}

static void complete(void *addon, uint64_t from_ns, uint64_t to_ns)
{
	struct estimates *e = addon;

	(void)from_ns;
	(void)to_ns;
	e->slowdown = find_slowdown(e);
	profile_scale(e->parts->sink->profile, ROW_GPU, e->slowdown.factor);
	ledger_scale_estimates(e->parts->sink->ledger, e->slowdown.factor);
	if (e->kernels.count)
		add_kernel(e, ESTIMATES_ALL, &e->all);
	for (uint32_t i = 0; i < e->kernels.count; i++)
		add_kernel(e, e->kernels.list[i].name, &e->kernels.list[i].sum);
	for (uint32_t i = 0; i < e->stacks.count; i++)
		add_stack(e, &e->stacks.list[i]);
}

const struct addon addon_estimates = {
	.is_wanted = is_wanted,
	.begin = begin,
	.release = release,
	.event = take_event,
	.operation = take_operation,
	.visit = visit,
	.notes = ADDON_NOTE(NOTE_ESTIMATE),
	.note = take_note,
	.complete = complete,
};
