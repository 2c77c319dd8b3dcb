// SPDX-License-Identifier: MIT
#include "profiler/join/attribution.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/model/estimates.h"
#include "profiler/model/memory_use.h"
#include "symbolize/util/saturate.h"

struct launch_origin {
	struct launch_stack stack;
	uint32_t tid, stands_for, is_waited;
};

/* Moves work to a stack. A row that the profile refused stays among the refused ones. */
static void move_work(void *context, struct stack_id base, struct place_id place,
		      struct stack_id stack, const struct spread_work *work)
{
	struct attribution *a = context;

	profile_move(
		a->parts.sink->profile, ROW_GPU, place, base, stack,
		&(struct profile_row){.count = work->count, .ns = work->ns, .bytes = work->bytes});
}

void attribution_init(struct attribution *a, const struct attribution_parts *parts)
{
	memset(a, 0, sizeof(*a));
	a->parts = *parts;
	gpu_stack_init(&a->gpu_stacks, parts->stacks);
	spread_init(&a->spread, &(struct spread_output){move_work, a});
}

void attribution_limit(struct attribution *a, struct quota *memory)
{
	a->memory = memory;
	a->gpu_stacks.memory = memory;
	a->graph_nodes.memory = memory;
	a->spread.memory = memory;
}

void attribution_release(struct attribution *a)
{
	gpu_stack_release(&a->gpu_stacks);
	graph_nodes_release(&a->graph_nodes);
	spread_release(&a->spread);
	record_set_release(&a->origins.set);
	memset(a, 0, sizeof(*a));
}

/* ---- launches ---- */

void attribution_limit_stacks(struct attribution *a)
{
	a->limits_stacks = true;
}

void attribution_in_windows(struct attribution *a)
{
	a->in_windows = true;
}

void attribution_note_waited(struct attribution *a)
{
	a->notes_waited = true;
}

/* Returns true if origins are numbered. Otherwise the stack alone is the origin. */
static bool numbers_origins(const struct attribution *a)
{
	return a->limits_stacks || a->notes_waited || a->in_windows ||
	       a->parts.addons->needs_threads || a->parts.places->mask & 1u << PLACE_THREAD;
}

/*
 * Returns the id of an origin, adding it if there are fewer than `max`. Returns ORIGIN_UNKNOWN
 * without room.
 */
static struct origin_id number_origin(struct attribution *a, struct launch_origin key, uint32_t max)
{
	uint32_t at = record_find(&a->origins, &key);

	if (at == RECORD_NONE && a->origins.count < max &&
	    quota_take(a->memory, sizeof(key) + HASH_INDEX_ENTRY_BYTES))
		at = record_add(&a->origins, &key, &key);
	return at == RECORD_NONE ? ORIGIN_UNKNOWN : (struct origin_id){at};
}

struct origin_id attribution_origin_of_many(struct attribution *a, struct launch_stack stack,
					    uint32_t tid, uint32_t stands_for, bool is_waited)
{
	struct origin_id origin;

	if (!numbers_origins(a) || (same_id(stack, LAUNCH_UNKNOWN) && !a->in_windows))
		return (struct origin_id){stack.number};
	origin = number_origin(
		a, (struct launch_origin){stack, tid, stands_for, is_waited && a->notes_waited},
		ATTRIBUTION_ORIGINS_MAX);
	/* bounded by the number of stacks */
	if (same_id(origin, ORIGIN_UNKNOWN))
		origin = number_origin(a,
				       (struct launch_origin){stack, PLACE_UNKNOWN,
							      a->in_windows ? stands_for : 1, 0},
				       ORIGIN_UNKNOWN.number);
	if (same_id(origin, ORIGIN_UNKNOWN) && same_id(stack, LAUNCH_SKIPPED))
		return origin_of_mark(stack);
	return origin;
}

struct origin_id attribution_origin(struct attribution *a, struct launch_stack stack, uint32_t tid)
{
	return attribution_origin_of_many(a, stack, tid, 1, false);
}

static struct launch_origin origin_of(const struct attribution *a, struct origin_id id)
{
	if (!numbers_origins(a) || id.number >= a->origins.count)
		return (struct launch_origin){{id.number}, PLACE_UNKNOWN, 1, 0};
	return a->origins.list[id.number];
}

/* ---- operations ---- */

/* Puts a stack below those of the enclosing conditional nodes, outermost first. */
static struct stack_id below_conditionals(struct attribution *a, uint64_t time_ns,
					  const struct gpu_operation *o, struct stack_id stack)
{
	struct stack_id around[GRAPH_NODES_DEPTH];
	uint32_t n;

	if (!graph_nodes_has_bodies(&a->graph_nodes))
		return stack;
	n = graph_nodes_enclosing(&a->graph_nodes, o->process, o->graph_node, time_ns, around);
	for (uint32_t i = 0; i < n; i++)
		stack = gpu_stack_captures(&a->gpu_stacks, around[i], stack);
	return stack;
}

/*
 * Returns the stack that created the operation's graph node. Another graph may have the node's id
 * by now, so the launch time selects the graph. Without a launch, the start of the node's work is
 * the best substitute.
 */
static struct capture_stack capture_of(struct attribution *a, uint64_t launched_ns,
				       const struct gpu_operation *o)
{
	uint64_t time_ns = launched_ns ? launched_ns : o->start_ns;
	struct capture_stack stack;

	if (o->graph_node == 0)
		return CAPTURE_NONE;
	stack = graph_nodes_find(&a->graph_nodes, o->process, o->graph_node,
				 time_ns ? time_ns : GRAPH_NODES_NEWEST);
	if (same_id(stack, CAPTURE_UNSEEN))
		return stack;
	return captured_at(below_conditionals(a, time_ns ? time_ns : GRAPH_NODES_NEWEST, o,
					      (struct stack_id){stack.number}));
}

/* Returns a process, or NULL if it has been freed. */
static struct process *process_of(const struct attribution *a, uint32_t id)
{
	if (a->ending && a->ending->id == id)
		return a->ending;
	return processes_again(a->parts.processes, id);
}

/* Counts an operation for the comparison with CUPTI's totals of everything sent. */
static void count_received(struct attribution *a, const struct gpu_operation *o)
{
	struct process *process = process_of(a, o->process);
	const struct work_sum sum = {.key = {.device = o->device,
					     .context = o->context,
					     .stream = o->stream,
					     .work = o->work},
				     .count = 1,
				     .ns = o->duration_ns,
				     .bytes = o->bytes};

	if (process)
		process_count(process, &process->counted, a->parts.quota, &sum);
}

/* Returns the profile item that counts an operation, by the stacks of its launch and graph node. */
static struct profile_item item_of(const struct attribution *a, const struct gpu_operation *o,
				   struct launch_stack launch, struct capture_stack capture)
{
	struct profile_item item = {.record = {.kind = TIMELINE_GPU_OPERATION,
					       .start_ns = o->start_ns,
					       .duration_ns = o->duration_ns,
					       .bytes = o->bytes,
					       .work = o->work},
				    .flags = ITEM_COUNTS,
				    .device = devices_key(a->parts.devices, o->process, o->device)};

	item.flags |= !same_id(launch, LAUNCH_UNKNOWN) ? ITEM_MATCHED : 0;
	item.flags |= o->bad_time ? ITEM_BAD_TIME : 0;
	item.flags |= o->staged ? ITEM_STAGED : 0;
	item.flags |= o->outside == GPU_BEFORE_TRACING ? ITEM_BEFORE : 0;
	item.flags |= o->outside == GPU_AFTER_TRACING ? ITEM_AFTER : 0;
	if (gpu_work_is_instant(o->work))
		return item;
	item.flags |= same_id(launch, LAUNCH_EARLIER) ? ITEM_EARLIER : 0;
	item.flags |= same_id(capture, CAPTURE_UNSEEN) ? ITEM_UNSEEN : 0;
	return item;
}

/*
 * Returns true for work launched before recording started. The library records launches from
 * TIME_RANGE_LEAD_NS before the time range on, and in an attached process since its injection.
 */
static bool is_of_earlier(struct attribution *a, const struct gpu_operation *o)
{
	const struct process *process = process_of(a, o->process);

	return (a->time_range.from_ns || a->begins_late) && process && o->correlation_id &&
	       (!process->first_launch || o->correlation_id < process->first_launch);
}

static void count_outside(struct attribution *a, const struct gpu_operation *o)
{
	struct ledger_outside *l = &a->parts.ledger->outside;
	bool is_after = o->start_ns >= a->time_range.from_ns;

	if (gpu_work_is_instant(o->work) || gpu_work_is_stall(o->work))
		return;
	*(is_after ? &l->after : &l->before) += 1;
	*(is_after ? &l->after_ns : &l->before_ns) += o->duration_ns;
}

void attribution_leave_out(struct attribution *a, const struct gpu_operation *o)
{
	struct ledger_outside *l = &a->parts.ledger->outside;

	count_received(a, o);
	if (gpu_work_is_instant(o->work) || gpu_work_is_stall(o->work))
		return;
	l->unchosen++;
	l->unchosen_ns += o->duration_ns;
}

/*
 * Adds an operation to the profile. Without usable times it has a row, but no record. A launch
 * before the time range has no record. A launch after the operation's start is another one.
 */
static void add_operation(struct attribution *a, const struct gpu_operation *o,
			  const struct launch_origin *launch, uint64_t launched_ns,
			  struct capture_stack capture, struct stack_id stack,
			  struct place_id place)
{
	struct profile_item item = item_of(a, o, launch->stack, capture);
	struct timeline_record *r = &item.record;

	r->graph_node = o->graph_node;
	r->place = place;
	r->stack = stack;
	r->shape = o->work == GPU_WORK_KERNEL ? o->shape : 0;
	r->correlation = o->correlation_id;
	r->is_waited = launch->is_waited;
	if (a->in_windows) {
		r->represents = (uint16_t)launch->stands_for;
		item.flags |= ITEM_REPRESENTS;
	}
	item.flags |= o->bad_time ? 0 : ITEM_DRAWN;
	item.flags |= gpu_work_is_instant(o->work) ? 0 : ITEM_ROW;
	if (launched_ns > o->start_ns || !time_range_has(&a->time_range, launched_ns))
		launched_ns = 0;
	profile_sink_add_launched(a->parts.sink, &item, launched_ns);
}

/*
 * Passes work to spread.h: work without a stack is parked, other work is a sample. Work launched by
 * no thread of the program is neither. Nor is work that the stack table has no room for, because it
 * shares one stack with other kinds.
 *
 * The note goes through the sink, so that with --last work is distributed among the last seconds.
 * In notes `shape` is the base, `correlation` the process, `device` the thread, and `work` the
 * number of launches represented. `work` 0: launched without a stack.
 */
static void share(struct attribution *a, const struct launch_origin *launch,
		  const struct gpu_work_origin *origin, const struct gpu_operation *o,
		  struct stack_id stack, struct place_id place)
{
	struct gpu_work_origin base = *origin;
	struct profile_item note = {
		.record = {.kind = NOTE_SHARE,
			   .start_ns = o->start_ns,
			   .duration_ns = o->duration_ns,
			   .bytes = o->bytes,
			   .stack = stack,
			   .place = place,
			   .correlation = o->process,
			   .work = same_id(launch->stack, LAUNCH_SKIPPED) ? 0 : launch->stands_for},
		.flags = o->bad_time ? ITEM_BAD_TIME : 0,
		.device = launch->tid};
	struct stack_id base_stack;

	if (launch->stack.number > LAUNCH_SKIPPED.number)
		return;
	base.launch = LAUNCH_SKIPPED;
	base_stack = gpu_stack_work(&a->gpu_stacks, &base);
	note.record.shape = base_stack.number;
	if (!same_id(base_stack, STACK_NOT_KEPT))
		profile_sink_add(a->parts.sink, &note);
}

void attribution_note(struct attribution *a, const struct profile_item *note)
{
	const struct timeline_record *r = &note->record;
	const struct spread_key key = {
		.process = r->correlation, .base = {r->shape}, .thread = note->device};

	if (r->work)
		spread_add_sample(&a->spread, &key, r->stack, r->work, r->duration_ns, r->bytes);
	else
		spread_park(&a->spread, &key, r->place, r->duration_ns, r->bytes);
}

/*
 * Returns false, and counts the operation as refused, if sums of estimates would be too large. It
 * also does so if there was no room for what the launch represents.
 */
static bool is_in_total(struct attribution *a, struct origin_id id, const struct gpu_operation *o)
{
	uint64_t most = (uint64_t)origin_of(a, id).stands_for * ESTIMATES_MOST_FACTOR;
	bool fits = id.number < a->origins.count &&
		    ledger_total_add(&a->estimated, most, saturated_product(o->duration_ns, most),
				     saturated_product(o->bytes, most));

	a->parts.ledger->bounds.refused += !fits;
	return fits;
}

static void add(struct attribution *a, struct origin_id id, uint64_t launched_ns,
		const struct gpu_operation *o)
{
	struct launch_origin launch = origin_of(a, id);
	struct gpu_work_origin origin;
	struct place where = {{o->process, launch.tid, o->device, o->context, o->stream}};
	bool is_instant = gpu_work_is_instant(o->work);
	bool is_inside = o->bad_time || time_range_has(&a->time_range, o->start_ns);
	struct addon_operation operation = {.operation = o,
					    .origin = &origin,
					    .launched_ns = launched_ns,
					    .represents = a->in_windows ? launch.stands_for : 1,
					    .thread = launch.tid,
					    .is_recorded = is_inside && !is_instant};
	bool is_observed;
	struct place_id place;

	if (o->work == JOIN_REMARK) {
		addons_remark(a->parts.addons, launch.stack, o->remark);
		return;
	}
	if (same_id(launch.stack, LAUNCH_UNKNOWN) && is_of_earlier(a, o))
		launch.stack = LAUNCH_EARLIER;
	count_received(a, o);
	if (!is_inside)
		count_outside(a, o);
	if (a->in_windows && is_inside && !is_in_total(a, id, o))
		return;
	is_observed = !operation.is_recorded && addons_look_at(a->parts.addons, o);
	if (!is_inside && !is_observed)
		return;
	/* counted only: it has no time, or is shown as a wait */
	if (gpu_work_is_stall(o->work) ||
	    (is_instant && !a->parts.sink->timeline && !is_observed)) {
		struct profile_item item = item_of(a, o, launch.stack, CAPTURE_NONE);

		if (is_inside)
			profile_sink_add(a->parts.sink, &item);
		if (is_inside && gpu_work_is_stall(o->work))
			addons_stall(a->parts.addons, o);
		return;
	}
	memset(&origin, 0, sizeof(origin));
	origin.launch = launch.stack;
	origin.capture = capture_of(a, launched_ns, o);
	origin.work = o->work;
	if (o->work == GPU_WORK_KERNEL)
		origin.name = o->name;
	else if (o->work == GPU_WORK_ALLOC)
		origin.memory = memory_kind_of(o->shape);
	operation.stack = gpu_stack_work(&a->gpu_stacks, &origin);
	addons_operation(a->parts.addons, &operation);
	if (!is_inside)
		return;
	place = places_add(a->parts.places, &where);
	add_operation(a, o, &launch, launched_ns, origin.capture, operation.stack, place);
	if (a->limits_stacks && !is_instant)
		share(a, &launch, &origin, o, operation.stack, place);
}

void attribution_add(void *attribution, struct origin_id id, uint64_t launched_ns,
		     const struct gpu_operation *operation)
{
	struct gpu_operation moved;

	if (!operation->bad_time && launched_ns > operation->start_ns &&
	    launched_ns - operation->start_ns < ATTRIBUTION_CLOCK_ERROR_NS) {
		moved = *operation;
		moved.start_ns = launched_ns;
		operation = &moved;
	}
	add(attribution, id, launched_ns, operation);
}

/* ---- forgetting ---- */

struct origin_numbers {
	uint32_t *numbers, count;
};

static void use_origin(void *context, struct origin_id *origin)
{
	const struct origin_numbers *n = context;

	if (origin->number < n->count)
		n->numbers[origin->number] = 0;
}

static void renumber_origin(void *context, struct origin_id *origin)
{
	const struct origin_numbers *n = context;

	if (origin->number < n->count)
		origin->number = n->numbers[origin->number];
}

void attribution_forget_origins(struct attribution *a, struct join *join)
{
	struct origin_numbers n = {.count = a->origins.count};
	uint32_t left = 0;

	if (!numbers_origins(a))
		return;
	n.numbers = malloc((n.count + 1) * sizeof(*n.numbers));
	if (!n.numbers)
		return;
	memset(n.numbers, 0xff, n.count * sizeof(*n.numbers));
	join_visit(join, use_origin, &n);
	for (uint32_t i = 0; i < n.count; i++) {
		if (n.numbers[i] == ID_UNUSED)
			continue;
		n.numbers[i] = left;
		a->origins.list[left++] = a->origins.list[i];
	}
	join_visit(join, renumber_origin, &n);
	free(n.numbers);
	quota_return(a->memory, (size_t)(n.count - left) *
					(sizeof(struct launch_origin) + HASH_INDEX_ENTRY_BYTES));
	a->origins.count = left;
	record_reindex(&a->origins, struct launch_origin);
}

/* Visits an origin that is a stack's number. */
static void visit_stack_origin(void *context, struct origin_id *origin)
{
	visit_stack_or_mark(context, &origin->number);
}

void attribution_visit(struct attribution *a, struct join *join, const struct id_visitor *v)
{
	struct id_visitor visitor = *v;

	gpu_stack_forget(&a->gpu_stacks);
	graph_nodes_visit(&a->graph_nodes, v);
	if (!numbers_origins(a)) {
		join_visit(join, visit_stack_origin, &visitor);
		return;
	}
	for (uint32_t i = 0; i < a->origins.count; i++)
		visit_stack_or_mark(v, &a->origins.list[i].stack.number);
	record_reindex(&a->origins, struct launch_origin);
}

static void finish_spread(struct attribution *a)
{
	struct ledger_spread *l = &a->parts.ledger->spread;
	const struct spread_stats *stats = &a->spread.stats;

	spread_finish(&a->spread);
	l->operations = stats->parked.count;
	l->ns = stats->parked.ns;
	l->borrowed_ns = stats->borrowed.ns;
	l->left = stats->left.count;
	l->left_ns = stats->left.ns;
	l->error_ns = stats->variance < 1e36 ? (uint64_t)sqrt(stats->variance) : UINT64_MAX;
}

void attribution_finish(struct attribution *a)
{
	if (a->limits_stacks)
		finish_spread(a);
}
