// SPDX-License-Identifier: MIT
#include "profiler/join/attribution.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "symbolize/util/array.h"

struct launch_origin {
	uint32_t stack, tid, stands_for, is_waited;
};

/* A part of what waited from `start_ns` on: it belongs to the moment at which that began. */
static void add_part(struct attribution *a, uint64_t start_ns, uint32_t stack, uint32_t place,
		     uint64_t ns)
{
	profile_sink_add(a->parts.sink, &(struct profile_item){.record = {.kind = TIMELINE_WAIT,
									  .start_ns = start_ns,
									  .duration_ns = ns,
									  .stack = stack,
									  .place = place},
							       .flags = ITEM_ROW});
}

/* A part of a wait, with the work that ran then, or NULL. */
static void add_part_of_wait(void *context, const struct waits_wait *wait,
			     const struct waits_piece *piece)
{
	struct attribution *a = context;

	if (a->splits_times)
		wait_times_split(&a->wait_times, wait, piece->origin, piece->from_ns, piece->ns);
	if (!a->splits_all_times && piece->off_cpu_ns)
		add_part(a, wait->start_ns,
			 compose_wait(&a->compose, wait->stack, false, piece->origin), wait->place,
			 piece->off_cpu_ns);
}

static void add_part_of_stall(void *context, const struct stalls_stall *stall,
			      const struct gpu_work_origin *origin, uint64_t ns)
{
	struct attribution *a = context;

	add_part(a, stall->start_ns, compose_stall(&a->compose, origin), stall->place, ns);
}

/* Where the profile did not keep the row, the work is in what it did not keep. */
static void move_work(void *context, uint32_t base, uint32_t place, uint32_t stack,
		      const struct spread_work *work)
{
	struct attribution *a = context;

	profile_move(a->parts.sink->profile, ROW_GPU, place, base, stack,
		     &(struct row){.count = work->count, .ns = work->ns, .bytes = work->bytes});
}

int attribution_init(struct attribution *a, const struct attribution_parts *parts,
		     bool follows_waits)
{
	memset(a, 0, sizeof(*a));
	a->parts = *parts;
	compose_init(&a->compose, parts->stacks);
	spread_init(&a->spread, &(struct spread_output){move_work, a});
	if (!follows_waits)
		return 0;
	a->waits = waits_new(&(struct waits_output){add_part_of_wait, a});
	a->stalls = stalls_new(&(struct stalls_output){add_part_of_stall, a});
	return a->waits && a->stalls ? 0 : -ENOMEM;
}

void attribution_limit(struct attribution *a, struct allowance *memory)
{
	a->memory = memory;
	a->compose.memory = memory;
	a->graph_nodes.memory = memory;
	a->spread.memory = memory;
	a->wait_times.memory = memory;
	if (!a->waits)
		return;
	waits_limit(a->waits, memory);
	stalls_limit(a->stalls, memory);
}

void attribution_release(struct attribution *a)
{
	compose_release(&a->compose);
	graph_nodes_release(&a->graph_nodes);
	spread_release(&a->spread);
	wait_times_release(&a->wait_times);
	waits_free(a->waits);
	stalls_free(a->stalls);
	free(a->origins);
	hash_index_release(&a->origin_index);
	memset(a, 0, sizeof(*a));
}

/* ---- launches ---- */

static bool origin_equal(const void *records, uint32_t position, const void *key)
{
	return memcmp((const struct launch_origin *)records + position, key,
		      sizeof(struct launch_origin)) == 0;
}

void attribution_limit_stacks(struct attribution *a)
{
	a->limits_stacks = true;
}

void attribution_note_waited(struct attribution *a)
{
	a->notes_waited = true;
}

static void split_samples(struct attribution *a)
{
	a->splits_times = a->waits != NULL;
	a->wait_times.profile = a->parts.sink->profile;
	a->wait_times.compose = &a->compose;
}

void attribution_expect_cpu_time(struct attribution *a, bool splits_samples)
{
	a->has_cpu_time = true;
	if (splits_samples)
		split_samples(a);
}

void attribution_split_times(struct attribution *a)
{
	split_samples(a);
	a->splits_all_times = a->splits_times;
}

void attribution_add_time(struct attribution *a, const struct wait_time *time)
{
	if (a->splits_times)
		wait_times_add(&a->wait_times, time);
}

void attribution_spread_time(struct attribution *a, uint32_t stack, uint32_t place, uint64_t ns)
{
	if (a->splits_times)
		wait_times_spread(&a->wait_times, stack, place, ns);
}

/* Where not, a stack is all that there is to know of a launch. */
static bool numbers_origins(const struct attribution *a)
{
	return a->limits_stacks || a->notes_waited || a->parts.idle ||
	       a->parts.places->mask & 1u << PLACE_THREAD;
}

static uint32_t hash_origin(const struct launch_origin *o)
{
	return hash_four(o->stack, o->tid, o->stands_for, o->is_waited);
}

/* The id of an origin, a new one only below `max`; LAUNCH_UNKNOWN: no room. */
static uint32_t number_origin(struct attribution *a, struct launch_origin key, uint32_t max)
{
	uint32_t hash = hash_origin(&key);
	uint32_t at = hash_index_find(&a->origin_index, hash, origin_equal, a->origins, &key);

	if (at != HASH_INDEX_NONE)
		return at;
	if (a->origin_count >= max ||
	    !allowance_take(a->memory, sizeof(key) + HASH_INDEX_ENTRY_BYTES) ||
	    !array_make_room(&a->origins, a->origin_count, &a->origin_capacity, sizeof(key)) ||
	    hash_index_add(&a->origin_index, hash, a->origin_count) != 0)
		return LAUNCH_UNKNOWN;
	a->origins[a->origin_count] = key;
	return a->origin_count++;
}

uint32_t attribution_origin_of_many(struct attribution *a, uint32_t stack, uint32_t tid,
				    uint32_t stands_for, bool is_waited)
{
	uint32_t number;

	if (!numbers_origins(a) || stack == LAUNCH_UNKNOWN)
		return stack;
	number = number_origin(
		a, (struct launch_origin){stack, tid, stands_for, is_waited && a->notes_waited},
		ATTRIBUTION_ORIGINS_MAX);
	/* bounded by the number of stacks */
	if (number == LAUNCH_UNKNOWN)
		number = number_origin(a, (struct launch_origin){stack, PLACE_UNKNOWN, 1, 0},
				       LAUNCH_UNKNOWN);
	return number == LAUNCH_UNKNOWN && stack == LAUNCH_SKIPPED ? stack : number;
}

uint32_t attribution_origin(struct attribution *a, uint32_t stack, uint32_t tid)
{
	return attribution_origin_of_many(a, stack, tid, 1, false);
}

static struct launch_origin origin_of(const struct attribution *a, uint32_t carried)
{
	if (!numbers_origins(a) || carried >= a->origin_count)
		return (struct launch_origin){carried, PLACE_UNKNOWN, 1, 0};
	return a->origins[carried];
}

/* ---- operations ---- */

/* Below the stacks of the conditional nodes around the node, the outermost first. */
static uint32_t below_conditionals(struct attribution *a, uint64_t time_ns,
				   const struct gpu_operation *o, uint32_t stack)
{
	uint32_t around[GRAPH_NODES_DEPTH], n;

	if (!graph_nodes_has_bodies(&a->graph_nodes))
		return stack;
	n = graph_nodes_around(&a->graph_nodes, o->process, o->graph_node, time_ns, around);
	for (uint32_t i = 0; i < n; i++)
		stack = compose_captures(&a->compose, around[i], stack);
	return stack;
}

/*
 * Another graph may have the node's id by now, so the launch time selects the graph. Without a
 * launch, the time at which the node ran is the best substitute.
 */
static uint32_t capture_of(struct attribution *a, uint64_t launched_ns,
			   const struct gpu_operation *o)
{
	uint64_t time_ns = launched_ns ? launched_ns : o->start_ns;
	uint32_t stack;

	if (o->graph_node == 0)
		return CAPTURE_NONE;
	stack = graph_nodes_find(&a->graph_nodes, o->process, o->graph_node,
				 time_ns ? time_ns : GRAPH_NODES_NEWEST);
	if (stack != GRAPH_NODES_UNKNOWN)
		return below_conditionals(a, time_ns ? time_ns : GRAPH_NODES_NEWEST, o, stack);
	return CAPTURE_UNSEEN;
}

/* NULL: already settled. */
static struct process *process_of(const struct attribution *a, uint32_t id)
{
	if (a->settling && a->settling->id == id)
		return a->settling;
	return processes_get(a->parts.processes, id);
}

/* For the comparison with CUPTI's own sums, which are of all that was sent. */
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
		process_count(process, &process->counted, a->parts.allowance, &sum);
}

/* What there is to count of it, by the launch's stack and that of its graph's node. */
static struct profile_item item_of(const struct attribution *a, const struct gpu_operation *o,
				   uint32_t launch, uint32_t capture)
{
	struct profile_item item = {.record = {.kind = TIMELINE_GPU_OPERATION,
					       .start_ns = o->start_ns,
					       .duration_ns = o->duration_ns,
					       .bytes = o->bytes,
					       .work = o->work},
				    .flags = ITEM_COUNTS,
				    .device = devices_key(a->parts.devices, o->process, o->device)};

	item.flags |= launch != LAUNCH_UNKNOWN ? ITEM_MATCHED : 0;
	item.flags |= o->bad_time ? ITEM_BAD_TIME : 0;
	item.flags |= o->staged ? ITEM_STAGED : 0;
	item.flags |= o->outside == GPU_BEFORE_TRACING ? ITEM_BEFORE : 0;
	item.flags |= o->outside == GPU_AFTER_TRACING ? ITEM_AFTER : 0;
	if (gpu_work_is_instant(o->work))
		return item;
	item.flags |= launch == LAUNCH_EARLIER ? ITEM_EARLIER : 0;
	item.flags |= capture == CAPTURE_UNSEEN ? ITEM_UNSEEN : 0;
	return item;
}

/*
 * Work without a launch that was launched before any was recorded; the library records those from
 * WINDOW_LEAD_NS before the window on, or, in a process that already ran, from when it came.
 */
static bool is_of_earlier(struct attribution *a, const struct gpu_operation *o)
{
	const struct process *process = process_of(a, o->process);

	return (a->window.from_ns || a->begins_late) && process && o->correlation_id &&
	       (!process->first_launch || o->correlation_id < process->first_launch);
}

static void count_outside(struct attribution *a, const struct gpu_operation *o)
{
	struct ledger_outside *l = &a->parts.ledger->outside;
	bool is_after = o->start_ns >= a->window.from_ns;

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

static void show_to_waits(struct attribution *a, const struct gpu_work_origin *origin,
			  const struct gpu_operation *o)
{
	if (!a->waits || o->bad_time)
		return;
	if (waits_add_operation(a->waits,
				&(struct waits_operation){.start_ns = o->start_ns,
							  .end_ns = o->start_ns + o->duration_ns,
							  .process = o->process,
							  .context = o->context,
							  .stream = o->stream,
							  .origin = *origin}) != 0)
		a->parts.ledger->bounds.out_of_memory++;
	if (o->work == GPU_WORK_KERNEL &&
	    stalls_add_kernel(a->stalls,
			      &(struct stalls_kernel){.start_ns = o->start_ns,
						      .end_ns = o->start_ns + o->duration_ns,
						      .process = o->process,
						      .device = o->device,
						      .origin = *origin}) != 0)
		a->parts.ledger->bounds.out_of_memory++;
}

/*
 * Without usable times it has a row, and no record. A launch before the window has no record, and
 * one that began after the operation is another.
 */
static void add_operation(struct attribution *a, const struct gpu_operation *o,
			  const struct launch_origin *launch, uint64_t launched_ns,
			  uint32_t capture, uint32_t stack, uint32_t place)
{
	struct profile_item item = item_of(a, o, launch->stack, capture);
	struct timeline_record *r = &item.record;

	r->graph_node = o->graph_node;
	r->place = place;
	r->stack = stack;
	r->shape = gpu_work_is_memory_call(o->work) ? 0 : o->shape;
	r->correlation = o->correlation_id;
	r->is_waited = launch->is_waited && o->work == GPU_WORK_KERNEL;
	item.flags |= o->bad_time ? 0 : ITEM_DRAWN;
	item.flags |= gpu_work_is_instant(o->work) ? 0 : ITEM_ROW;
	if (launched_ns > o->start_ns || !window_has(&a->window, launched_ns))
		launched_ns = 0;
	profile_sink_add_launched(a->parts.sink, &item, launched_ns);
}

/* Kernels waited, on the track of a thread that is not known: no thread made them. */
static void add_stall(struct attribution *a, const struct gpu_operation *o)
{
	struct place where = place_unknown();
	struct stalls_stall stall = {.start_ns = o->start_ns,
				     .end_ns = o->start_ns + o->duration_ns,
				     .process = o->process,
				     .device = o->device};

	if (!a->waits || o->bad_time)
		return;
	where.part[PLACE_PROCESS] = o->process;
	where.part[PLACE_DEVICE] = o->device;
	stall.place = places_add(a->parts.places, &where);
	profile_sink_add(
		a->parts.sink,
		&(struct profile_item){.record = {.kind = TIMELINE_WAIT,
						  .start_ns = o->start_ns,
						  .duration_ns = o->duration_ns,
						  .place = stall.place,
						  .stack = compose_stall(&a->compose, NULL)},
				       .flags = ITEM_DRAWN});
	if (stalls_add(a->stalls, &stall) != 0)
		a->parts.ledger->bounds.out_of_memory++;
}

/*
 * Parks what was launched without a stack of its own; else it is a sample for what is parked.
 * Work that no thread of the program launched is neither, nor is what the stack table has no room
 * for: several kinds of work are under one stack there.
 */
static void share(struct attribution *a, const struct launch_origin *launch,
		  const struct gpu_work_origin *origin, const struct gpu_operation *o,
		  uint32_t stack, uint32_t place)
{
	struct gpu_work_origin base = *origin;
	struct spread_key key = {.process = o->process, .thread = launch->tid};

	if (launch->stack > LAUNCH_SKIPPED)
		return;
	base.launch = LAUNCH_SKIPPED;
	key.base = compose_work(&a->compose, &base);
	if (key.base == STACK_NOT_KEPT)
		return;
	if (launch->stack == LAUNCH_SKIPPED)
		spread_park(&a->spread, &key, place, o->duration_ns, o->bytes);
	else
		spread_add_sample(&a->spread, &key, stack, launch->stands_for, o->duration_ns,
				  o->bytes);
}

static void follow_memory(struct attribution *a, const struct gpu_operation *o, uint32_t stack)
{
	if (!o->address)
		return;
	if (o->bad_time)
		a->parts.allocations->use.not_kept++;
	else
		allocations_add(a->parts.allocations,
				&(struct allocation_event){.type = o->work == GPU_WORK_ALLOC
									   ? ALLOCATION_MADE
									   : ALLOCATION_FREE,
							   .time_ns = o->start_ns,
							   .address = o->address,
							   .bytes = o->bytes,
							   .process = o->process,
							   .device = o->device,
							   .context = o->context,
							   .kind = memory_kind_of(o->shape),
							   .stack = stack});
}

/*
 * Below their kernel, as its record will be, or was. A graph's kernels are elsewhere, each where it
 * was captured: there are no rows of theirs there.
 */
static void place_samples(struct attribution *a, uint32_t launch, uint32_t number)
{
	struct gpu_work_origin origin;
	uint32_t stack = STACK_EMPTY;

	memset(&origin, 0, sizeof(origin));
	origin.launch = launch;
	origin.capture = CAPTURE_NONE;
	origin.work = GPU_WORK_KERNEL;
	origin.name = pc_samples_function(a->parts.pc_samples, number);
	if (launch != LAUNCH_UNKNOWN)
		stack = compose_work(&a->compose, &origin);
	pc_samples_place(a->parts.pc_samples, number, stack);
}

void attribution_add(void *attribution, uint32_t carried, uint64_t launched_ns,
		     const struct gpu_operation *o)
{
	struct attribution *a = attribution;
	struct launch_origin launch = origin_of(a, carried);
	struct gpu_work_origin origin;
	struct place where = {{o->process, launch.tid, o->device, o->context, o->stream}};
	bool is_instant = gpu_work_is_instant(o->work);
	bool follows = a->parts.allocations && gpu_work_is_memory_call(o->work);
	bool is_inside = o->bad_time || window_has(&a->window, o->start_ns);
	uint32_t stack, place;

	if (o->work == JOIN_REMARK) {
		place_samples(a, launch.stack, (uint32_t)o->remark);
		return;
	}
	if (launch.stack == LAUNCH_UNKNOWN && is_of_earlier(a, o))
		launch.stack = LAUNCH_EARLIER;
	count_received(a, o);
	if (!is_inside)
		count_outside(a, o);
	if (!is_inside && !follows && !a->waits)
		return;
	/* what only counts: it has no time, or is shown as a wait */
	if (gpu_work_is_stall(o->work) || (is_instant && !a->parts.sink->timeline && !follows)) {
		struct profile_item item = item_of(a, o, launch.stack, CAPTURE_NONE);

		if (is_inside)
			profile_sink_add(a->parts.sink, &item);
		if (is_inside && gpu_work_is_stall(o->work))
			add_stall(a, o);
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
	stack = compose_work(&a->compose, &origin);
	if (follows)
		follow_memory(a, o, stack);
	if (!is_inside) {
		if (!is_instant) /* what is waited for may have begun before */
			show_to_waits(a, &origin, o);
		return;
	}
	place = places_add(a->parts.places, &where);
	add_operation(a, o, &launch, launched_ns, origin.capture, stack, place);
	if (is_instant)
		return;
	show_to_waits(a, &origin, o);
	if (a->parts.measurements && o->work == GPU_WORK_KERNEL && o->graph_node == 0)
		measurements_place(a->parts.measurements, o->process, o->correlation_id, stack);
	if (a->parts.idle && !o->bad_time)
		idle_add_operation(
			a->parts.idle, (struct idle_where){o->process, launch.tid},
			&(struct idle_work){.start_ns = o->start_ns,
					    .duration_ns = o->duration_ns,
					    .launched_ns = launched_ns,
					    .device = o->device,
					    .launch = compose_launch(&a->compose, launch.stack)});
	if (a->parts.load && !o->bad_time)
		gpu_load_run(a->parts.load, devices_key(a->parts.devices, o->process, o->device),
			     o->start_ns, o->duration_ns);
	if (a->limits_stacks)
		share(a, &launch, &origin, o, stack, place);
}

/* ---- waits ---- */

/* Returns what of the wait is in the profile as CPU time. */
static uint64_t computed_in(const struct attribution *a, const struct gpu_event_wait *e)
{
	if (!a->has_cpu_time || a->splits_all_times) /* the latter has no waits as such */
		return 0;
	return e->computed_ns < e->duration_ns ? e->computed_ns : e->duration_ns;
}

static void add_whole_wait(struct attribution *a, const struct gpu_event_wait *e, uint32_t stack,
			   struct place place, uint64_t computed_ns)
{
	struct profile_item item = {.record = {.kind = TIMELINE_WAIT,
					       .start_ns = e->start_ns,
					       .duration_ns = e->duration_ns,
					       .bytes = computed_ns,
					       .stack = stack,
					       .error = timeline_error(e->error)},
				    .flags = ITEM_COUNTS | ITEM_DRAWN};

	if (e->has_stream) {
		place.part[PLACE_CONTEXT] = e->context_id;
		place.part[PLACE_STREAM] = e->stream_id;
	}
	if (a->parts.sink->timeline)
		item.record.place = places_add(a->parts.places, &place);
	profile_sink_add(a->parts.sink, &item);
}

void attribution_add_wait(struct attribution *a, const struct process *process, uint32_t stack,
			  const struct gpu_event_wait *e)
{
	struct ledger *ledger = a->parts.ledger;
	struct place place = place_unknown();
	struct waits_wait wait = {.start_ns = e->start_ns,
				  .end_ns = e->start_ns + e->duration_ns,
				  .computed_ns = computed_in(a, e),
				  .process = process->id,
				  .tid = e->tid,
				  .has_stream = e->has_stream != 0,
				  .context = e->context_id,
				  .stream = e->stream_id,
				  .stack = stack};

	if (!a->waits || !window_has(&a->window, e->start_ns))
		return; /* not requested */
	place.part[PLACE_PROCESS] = process->id;
	place.part[PLACE_THREAD] = e->tid;
	wait.place = places_add(a->parts.places, &place);
	add_whole_wait(a, e, stack, place, wait.computed_ns);
	if (waits_add(a->waits, &wait) != 0)
		ledger->bounds.out_of_memory++;
}

/* ---- forgetting ---- */

struct origin_numbers {
	uint32_t *numbers, count;
};

static void use_origin(void *context, uint32_t *carried)
{
	const struct origin_numbers *n = context;

	if (*carried < n->count)
		n->numbers[*carried] = 0;
}

static void renumber_origin(void *context, uint32_t *carried)
{
	const struct origin_numbers *n = context;

	if (*carried < n->count)
		*carried = n->numbers[*carried];
}

/* Anew. Cannot fail: there were as many. */
static void index_origins(struct attribution *a)
{
	hash_index_clear(&a->origin_index);
	for (uint32_t i = 0; i < a->origin_count; i++)
		hash_index_add(&a->origin_index, hash_origin(&a->origins[i]), i);
}

void attribution_forget_origins(struct attribution *a, struct join *join)
{
	struct origin_numbers n = {.count = a->origin_count};
	uint32_t left = 0;

	if (!numbers_origins(a))
		return;
	n.numbers = malloc((n.count + 1) * sizeof(*n.numbers));
	if (!n.numbers)
		return;
	memset(n.numbers, 0xff, n.count * sizeof(*n.numbers));
	join_visit(join, use_origin, &n);
	for (uint32_t i = 0; i < n.count; i++) {
		if (n.numbers[i] == NUMBER_UNUSED)
			continue;
		n.numbers[i] = left;
		a->origins[left++] = a->origins[i];
	}
	join_visit(join, renumber_origin, &n);
	free(n.numbers);
	allowance_return(a->memory, (size_t)(n.count - left) * (sizeof(struct launch_origin) +
								HASH_INDEX_ENTRY_BYTES));
	a->origin_count = left;
	index_origins(a);
}

void attribution_visit(struct attribution *a, struct join *join, const struct number_visitor *v)
{
	compose_forget(&a->compose);
	graph_nodes_visit(&a->graph_nodes, v);
	if (a->waits)
		waits_visit(a->waits, v);
	if (a->stalls)
		stalls_visit(a->stalls, v);
	if (!numbers_origins(a)) {
		join_visit(join, v->stack, v->context);
		return;
	}
	for (uint32_t i = 0; i < a->origin_count; i++)
		visit_stack(v, &a->origins[i].stack);
	index_origins(a);
}

void attribution_advance(struct attribution *a, uint64_t now_ns)
{
	if (a->waits)
		waits_advance(a->waits, now_ns);
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
	struct ledger_calls *calls = &a->parts.ledger->calls;

	if (a->limits_stacks)
		finish_spread(a);
	if (!a->waits)
		return;
	waits_finish(a->waits);
	stalls_finish(a->stalls);
	wait_times_finish(&a->wait_times);
	calls->cut_waits = waits_cut(a->waits) + a->wait_times.cut;
	if (calls->cut_waits > calls->waits) /* both of some */
		calls->cut_waits = calls->waits;
}
