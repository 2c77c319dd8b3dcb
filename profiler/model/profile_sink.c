// SPDX-License-Identifier: MIT
#include "profiler/model/profile_sink.h"

#include "cupti_trace/wire/gpu_work.h"
#include "symbolize/util/saturate.h"

/* largest lead of a program's clock over `now_ns`, which is the time of the last round */
#ifndef AHEAD_NS /* tests use less */
#define AHEAD_NS 1000000000u
#endif

/* ---- adding ---- */

static void count_sample(struct ledger_cpu *l, uint32_t flags)
{
	l->samples++;
	l->whole += (flags & ITEM_WHOLE) != 0;
	l->handed += (flags & ITEM_HANDED) != 0;
	l->without_parent += (flags & ITEM_NO_PARENT) != 0;
}

/* Returns how many events an item represents. */
static uint64_t represented(const struct profile_item *item)
{
	return item->flags & ITEM_REPRESENTS ? item->record.represents : 1;
}

static void count_launch(struct ledger_launches *l, const struct profile_item *item)
{
	uint32_t flags = item->flags;
	uint64_t n = represented(item);

	l->kernels += flags & ITEM_KERNEL ? n : 0;
	l->with_stack += flags & ITEM_STACK ? n : 0;
	l->skipped += flags & ITEM_SKIPPED ? n : 0;
	l->whole += flags & ITEM_WHOLE ? n : 0;
	l->handed += flags & ITEM_HANDED ? n : 0;
	l->without_parent += flags & ITEM_NO_PARENT ? n : 0;
}

static void count_operation(struct profile_sink *in, const struct profile_item *item)
{
	const struct timeline_record *r = &item->record;
	uint64_t n = represented(item);
	struct gpu_row row = {.work = r->work,
			      .device = item->device,
			      .count = n,
			      .ns = n * r->duration_ns,
			      .bytes = n * r->bytes,
			      .bad_times = item->flags & ITEM_BAD_TIME ? n : 0,
			      .staged = item->flags & ITEM_STAGED ? n : 0};

	if (item->flags & ITEM_BEFORE) {
		row.before = n;
		row.before_ns = row.ns;
	} else if (item->flags & ITEM_AFTER) {
		row.after = n;
		row.after_ns = row.ns;
	}
	if (!(item->flags & ITEM_MATCHED)) {
		row.unmatched = n;
		row.unmatched_ns = row.ns;
	}
	ledger_add_work(in->ledger, &row);
	in->ledger->gpu.unseen_nodes += item->flags & ITEM_UNSEEN ? n : 0;
	if (item->flags & ITEM_EARLIER) {
		in->ledger->outside.earlier++;
		in->ledger->outside.earlier_ns += row.ns;
	}
}

static void count(struct profile_sink *in, const struct profile_item *item)
{
	struct ledger_calls *calls = &in->ledger->calls;
	uint64_t ns = item->record.duration_ns;

	switch (item->record.kind) {
	case TIMELINE_CPU_SAMPLE:
		count_sample(&in->ledger->cpu, item->flags);
		break;
	case TIMELINE_LAUNCH:
		count_launch(&in->ledger->launches, item);
		break;
	case TIMELINE_GPU_OPERATION:
		count_operation(in, item);
		break;
	case TIMELINE_WAIT:
		calls->waits++;
		calls->wait_ns += timeline_off_cpu_ns(&item->record);
		calls->wait_computed_ns += ns - timeline_off_cpu_ns(&item->record);
		break;
	case TIMELINE_CALL:
		calls->timed++;
		break;
	default:
		break;
	}
}

/* Adds an item. `launched_ns`: as in timeline_listener. */
static void add_item(struct profile_sink *in, const struct profile_item *item, uint64_t launched_ns)
{
	static const enum row_kind kinds[TIMELINE_KINDS] = {
		[TIMELINE_CPU_SAMPLE] = ROW_CPU,
		[TIMELINE_GPU_OPERATION] = ROW_GPU,
		[TIMELINE_WAIT] = ROW_WAIT,
		[TIMELINE_CALL] = ROW_CALL,
	};
	const struct timeline_record *r = &item->record;

	if (r->kind == NOTE_COUNT) {
		saturated_add((uint64_t *)(uintptr_t)r->graph_node, r->bytes);
		return;
	}
	if (r->kind >= TIMELINE_KINDS) {
		in->take_note(in->context, item);
		return;
	}
	if (item->flags & ITEM_COUNTS)
		count(in, item);
	if (r->kind == TIMELINE_CALL) {
		in->ledger->calls.timed_ns += r->duration_ns;
		in->ledger->calls.unfinished += (item->flags & ITEM_UNFINISHED) != 0;
	}
	if (item->flags & ITEM_ROW)
		profile_add_many(in->profile, kinds[r->kind], r->stack, r->place,
				 &(struct profile_row){.count = represented(item),
						       .ns = represented(item) * r->duration_ns,
						       .bytes = represented(item) * r->bytes});
	if (item->flags & ITEM_DRAWN && in->timeline)
		timeline_add_launched(in->timeline, r, launched_ns);
}

/* ---- keeping ---- */

/* Returns whether an item counts as left out if it is. */
static bool is_work(const struct profile_item *item)
{
	const struct timeline_record *r = &item->record;

	return r->kind == TIMELINE_GPU_OPERATION && !gpu_work_is_instant(r->work) &&
	       !gpu_work_is_stall(r->work);
}

static bool is_kernel(const struct profile_item *item)
{
	return is_work(item) && item->record.work == GPU_WORK_KERNEL;
}

static bool is_call(const struct profile_item *item)
{
	return item->record.kind == TIMELINE_CALL && item->flags & ITEM_COUNTS;
}

/* Counts for displays during the run. profile_sink_finish() starts again from 0. */
static void count_so_far(struct profile_sink *in, const struct profile_item *item)
{
	struct ledger_calls *calls = &in->ledger->calls;
	bool counts = item->flags & ITEM_COUNTS;

	if (item->record.kind == TIMELINE_CPU_SAMPLE)
		in->ledger->cpu.samples += counts;
	else if (item->record.kind == TIMELINE_WAIT && counts)
		calls->wait_ns += timeline_off_cpu_ns(&item->record);
	else if (item->record.kind == TIMELINE_CALL) {
		calls->timed += counts;
		calls->timed_ns += item->record.duration_ns;
	}
}

static void reset_so_far(struct ledger *l)
{
	l->cpu.samples = l->calls.wait_ns = l->calls.timed = l->calls.timed_ns = 0;
	l->gpu.kernels = l->gpu.kernel_ns = 0;
}

static void keep(struct profile_sink *in, const struct profile_item *item)
{
	struct profile_item kept = *item;

	if (in->is_closed)
		return;
	/* a time in the future would never have its turn */
	if (item->flags & ITEM_BAD_TIME ||
	    (in->takes_turns && item->record.start_ns > in->now_ns + AHEAD_NS))
		kept.record.start_ns = in->now_ns;
	if (is_work(item)) {
		in->operations++;
		saturated_add(&in->operation_ns, item->record.duration_ns);
	}
	in->calls += is_call(item);
	count_so_far(in, item);
	if (!flight_recorder_add(in->recorder, &kept, in->now_ns + AHEAD_NS))
		in->lost++;
}

bool profile_sink_keep(struct profile_sink *in)
{
	in->recorder = flight_recorder_new();
	return in->recorder != NULL;
}

void profile_sink_release(struct profile_sink *in)
{
	flight_recorder_free(in->recorder);
	in->recorder = NULL;
}

void profile_sink_add_launched(struct profile_sink *in, const struct profile_item *item,
			       uint64_t launched_ns)
{
	if (in->recorder)
		keep(in, item);
	else
		add_item(in, item, launched_ns);
}

void profile_sink_add(struct profile_sink *in, const struct profile_item *item)
{
	profile_sink_add_launched(in, item, 0);
}

void profile_sink_count(struct profile_sink *in, uint64_t *count, uint64_t amount)
{
	const struct profile_item note = {.record = {.kind = NOTE_COUNT,
						     .graph_node = (uint64_t)(uintptr_t)count,
						     .bytes = amount},
					  .flags = ITEM_BAD_TIME};

	if (amount)
		profile_sink_add(in, &note);
}

void profile_sink_advance(struct profile_sink *in, uint64_t now_ns, uint64_t before_ns)
{
	in->now_ns = now_ns;
	if (in->recorder)
		flight_recorder_forget(in->recorder, before_ns);
}

void profile_sink_close(struct profile_sink *in)
{
	in->is_closed = true;
}

/* Returns whether an item is in a result that ends at `until_ns`, and in none before. */
static bool has_turn(const struct profile_item *item, uint64_t until_ns)
{
	return !(item->flags & PROFILE_ITEM_TAKEN) &&
	       (!until_ns || item->record.start_ns < until_ns);
}

uint64_t profile_sink_end(const struct profile_sink *in)
{
	return flight_recorder_forgotten(in->recorder) + flight_recorder_count(in->recorder);
}

void profile_sink_take(struct profile_sink *in, uint64_t until_ns, uint64_t end)
{
	uint64_t position = 0, first = flight_recorder_forgotten(in->recorder);
	struct profile_item *item;

	/* this result has counted what the recorder dropped */
	in->operations = in->operation_ns = in->calls = in->lost = 0;
	while ((item = flight_recorder_next(in->recorder, &position))) {
		if (first + position <= end && has_turn(item, until_ns))
			item->flags |= PROFILE_ITEM_TAKEN;
		if (item->flags & PROFILE_ITEM_TAKEN)
			continue;
		in->calls += is_call(item);
		if (!is_work(item))
			continue;
		in->operations++;
		saturated_add(&in->operation_ns, item->record.duration_ns);
	}
	flight_recorder_drop_taken(in->recorder);
}

/* Returns whether an item is in the time range. Items without times arrive after their events. */
static bool is_wanted_in(const struct profile_sink *in, const struct time_range *time_range,
			 const struct profile_item *item)
{
	uint64_t start_ns = item->record.start_ns;

	if (in->takes_turns)
		return has_turn(item, time_range->to_ns);
	if (item->flags & ITEM_BAD_TIME)
		return start_ns >= time_range->from_ns;
	if (item->flags & ITEM_LASTS)
		return saturated_sum(start_ns, item->record.duration_ns) > time_range->from_ns &&
		       !time_range_is_over(time_range, start_ns);
	return time_range_has(time_range, start_ns);
}

void profile_sink_finish(struct profile_sink *in, struct time_range *time_range)
{
	struct ledger_outside *l = &in->ledger->outside;
	const struct profile_item *item;
	uint64_t position = 0, inside = 0, inside_ns = 0, after = 0, after_ns = 0, left_ns;

	if (!in->recorder)
		return;
	if (flight_recorder_whole_from(in->recorder) > time_range->from_ns)
		time_range->from_ns = flight_recorder_whole_from(in->recorder);
	reset_so_far(in->ledger);
	while ((item = flight_recorder_next(in->recorder, &position))) {
		uint64_t start_ns = item->record.start_ns, ns = item->record.duration_ns;
		bool is_inside = is_wanted_in(in, time_range, item);
		bool is_after = !is_inside && time_range_is_over(time_range, start_ns);

		if (is_inside)
			add_item(in, item, 0);
		if (is_inside && is_kernel(item)) {
			in->ledger->gpu.kernels++;
			in->ledger->gpu.kernel_ns += ns;
		}
		if (!is_work(item))
			continue;
		inside += is_inside;
		saturated_add(&inside_ns, is_inside ? ns : 0);
		after += is_after;
		saturated_add(&after_ns, is_after ? ns : 0);
	}
	l->calls += in->calls - in->ledger->calls.timed;
	/* the rest came before, and most of it is dropped */
	l->after += after;
	l->after_ns += after_ns;
	l->before += in->operations - inside - after;
	left_ns = saturated_sum(inside_ns, after_ns);
	saturated_add(&l->before_ns, in->operation_ns > left_ns ? in->operation_ns - left_ns : 0);
	in->ledger->bounds.out_of_memory += in->lost;
	profile_sink_release(in);
}
