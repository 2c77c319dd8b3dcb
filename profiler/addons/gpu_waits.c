// SPDX-License-Identifier: MIT
#include "profiler/addons/gpu_waits.h"

#include <stdlib.h>
#include "cupti_trace/wire/gpu_work.h"
#include "profiler/addons/warp_stalls.h"
#include "profiler/addons/wait_times.h"
#include "profiler/addons/waits.h"

/* Ways to turn waits into rows. */
enum split {
	SPLIT_NOTHING, /* their time off the CPU is a row */
	SPLIT_SAMPLES, /* also, CPU samples in waits are split by the awaited work */
	SPLIT_TIMES,   /* only the thread's times in the profile (--wall) are split */
};

struct gpu_waits {
	const struct addon_parts *parts;
	struct waits *waits;
	struct warp_stalls *stalls;
	struct wait_times times; /* unless SPLIT_NOTHING */
	enum split split;
};

static bool is_wanted(const struct addon_parts *parts)
{
	return parts->measure->waits;
}

static void release(void *addon)
{
	struct gpu_waits *w = addon;

	waits_free(w->waits);
	warp_stalls_free(w->stalls);
	wait_times_release(&w->times);
	free(w);
}

static void count_error(const struct gpu_waits *w, int err)
{
	w->parts->sink->ledger->bounds.out_of_memory += err != 0;
}

/* ---- rows ---- */

/*
 * Adds a part of a wait or stall that began at `start_ns`. With --last, the start decides for all
 * parts.
 */
static void add_part(const struct gpu_waits *w, uint64_t start_ns, struct stack_id stack,
		     struct place_id place, uint64_t ns)
{
	const struct profile_item item = {.record = {.kind = TIMELINE_WAIT,
						     .start_ns = start_ns,
						     .duration_ns = ns,
						     .stack = stack,
						     .place = place},
					  .flags = ITEM_ROW};

	profile_sink_add(w->parts->sink, &item);
}

/* Adds a part of a wait, with the work that ran then, or NULL. */
static void add_part_of_wait(void *context, const struct waits_wait *wait,
			     const struct waits_piece *piece)
{
	struct gpu_waits *w = context;

	if (w->split != SPLIT_NOTHING)
		wait_times_split(&w->times, wait, piece->origin, piece->from_ns, piece->ns);
	if (w->split != SPLIT_TIMES && piece->off_cpu_ns)
		add_part(w, wait->start_ns,
			 gpu_stack_wait(w->parts->gpu_stacks, wait->stack, false, piece->origin),
			 wait->place, piece->off_cpu_ns);
}

static void add_part_of_stall(void *context, const struct warp_stalls_stall *stall,
			      const struct gpu_work_origin *origin, uint64_t ns)
{
	const struct gpu_waits *w = context;

	add_part(w, stall->start_ns, gpu_stack_stall(w->parts->gpu_stacks, origin), stall->place,
		 ns);
}

static void *begin(const struct addon_parts *parts)
{
	struct gpu_waits *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->parts = parts;
	w->waits = waits_new(&(struct waits_output){add_part_of_wait, w});
	w->stalls = warp_stalls_new(&(struct warp_stalls_output){add_part_of_stall, w});
	if (!w->waits || !w->stalls) {
		release(w);
		return NULL;
	}
	waits_limit(w->waits, parts->passing);
	warp_stalls_limit(w->stalls, parts->passing);
	w->times = (struct wait_times){.profile = parts->sink->profile,
				       .gpu_stacks = parts->gpu_stacks,
				       .memory = parts->passing};
	if (parts->measure->wall)
		w->split = SPLIT_TIMES;
	else if (parts->measure->samples_cpu &&
		 !parts->keeps_last) /* --last adds rows at the end */
		w->split = SPLIT_SAMPLES;
	return w;
}

/* ---- work ---- */

/* Returns whether work can be waited for: it may have begun before recording. */
static bool looks_at(void *addon, const struct gpu_operation *operation)
{
	(void)addon;
	return !gpu_work_is_instant(operation->work);
}

static void take_operation(void *addon, const struct addon_operation *operation)
{
	const struct gpu_operation *o = operation->operation;
	const struct waits_operation waited = {.start_ns = o->start_ns,
					       .end_ns = o->start_ns + o->duration_ns,
					       .process = o->process,
					       .context = o->context,
					       .stream = o->stream,
					       .origin = *operation->origin};
	struct gpu_waits *w = addon;

	if (o->bad_time)
		return;
	count_error(w, waits_add_operation(w->waits, &waited));
	if (o->work == GPU_WORK_KERNEL)
		count_error(w, warp_stalls_add_kernel(
				       w->stalls,
				       &(struct warp_stalls_kernel){.start_ns = waited.start_ns,
								    .end_ns = waited.end_ns,
								    .process = o->process,
								    .device = o->device,
								    .origin = *operation->origin}));
}

/* Adds a wait of kernels. Its track has an unknown thread, because no thread caused it. */
static void take_stall(void *addon, const struct gpu_operation *o)
{
	struct place where = place_unknown();
	struct warp_stalls_stall stall = {.start_ns = o->start_ns,
					  .end_ns = o->start_ns + o->duration_ns,
					  .process = o->process,
					  .device = o->device};
	struct profile_item item = {.record = {.kind = TIMELINE_WAIT,
					       .start_ns = o->start_ns,
					       .duration_ns = o->duration_ns},
				    .flags = ITEM_DRAWN};
	struct gpu_waits *w = addon;

	if (o->bad_time)
		return;
	where.part[PLACE_PROCESS] = o->process;
	where.part[PLACE_DEVICE] = o->device;
	stall.place = item.record.place = places_add(w->parts->places, &where);
	item.record.stack = gpu_stack_stall(w->parts->gpu_stacks, NULL);
	profile_sink_add(w->parts->sink, &item);
	count_error(w, warp_stalls_add(w->stalls, &stall));
}

/* ---- waits ---- */

/* Returns the CPU time in the wait that is in the profile. */
static uint64_t computed_in(const struct gpu_waits *w, const struct gpu_event_wait *e)
{
	if (!w->parts->measure->samples_cpu || w->split == SPLIT_TIMES)
		return 0;
	return e->computed_ns < e->duration_ns ? e->computed_ns : e->duration_ns;
}

static void add_whole_wait(const struct gpu_waits *w, const struct gpu_event_wait *e,
			   struct stack_id stack, struct place place, uint64_t computed_ns)
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
	if (w->parts->sink->timeline)
		item.record.place = places_add(w->parts->places, &place);
	profile_sink_add(w->parts->sink, &item);
}

static void take_wait(void *addon, uint32_t process, struct stack_id stack,
		      const struct gpu_event_wait *e)
{
	struct gpu_waits *w = addon;
	struct place place = place_unknown();
	struct waits_wait wait = {.start_ns = e->start_ns,
				  .end_ns = e->start_ns + e->duration_ns,
				  .computed_ns = computed_in(w, e),
				  .process = process,
				  .tid = e->tid,
				  .has_stream = e->has_stream != 0,
				  .context = e->context_id,
				  .stream = e->stream_id,
				  .stack = stack};

	if (!time_range_has(w->parts->time_range, e->start_ns))
		return;
	place.part[PLACE_PROCESS] = process;
	place.part[PLACE_THREAD] = e->tid;
	wait.place = places_add(w->parts->places, &place);
	add_whole_wait(w, e, stack, place, wait.computed_ns);
	count_error(w, waits_add(w->waits, &wait));
}

static void take_time(void *addon, const struct thread_time *t)
{
	struct gpu_waits *w = addon;

	if (w->split == SPLIT_NOTHING)
		return;
	if (t->is_spread)
		wait_times_spread(&w->times, t->stack, t->place, t->ns);
	else
		wait_times_add(&w->times, t);
}

static void advance(void *addon, uint64_t now_ns)
{
	struct gpu_waits *w = addon;

	waits_advance(w->waits, now_ns);
}

static void visit(void *addon, const struct id_visitor *visitor)
{
	struct gpu_waits *w = addon;

	waits_visit(w->waits, visitor);
	warp_stalls_visit(w->stalls, visitor);
}

static void finish(void *addon)
{
	struct gpu_waits *w = addon;
	struct ledger_calls *calls = &w->parts->sink->ledger->calls;

	waits_finish(w->waits);
	warp_stalls_finish(w->stalls);
	wait_times_finish(&w->times);
	calls->cut_waits = waits_cut(w->waits) + w->times.cut;
	waits_free(w->waits);
	warp_stalls_free(w->stalls);
	wait_times_release(&w->times);
	w->waits = NULL;
	w->stalls = NULL;
}

/* Limits the count, because some waits are cut in both ways. */
static void complete(void *addon, uint64_t from_ns, uint64_t to_ns)
{
	struct gpu_waits *w = addon;
	struct ledger_calls *calls = &w->parts->sink->ledger->calls;

	(void)from_ns;
	(void)to_ns;
	if (calls->cut_waits > calls->waits)
		calls->cut_waits = calls->waits;
}

const struct addon addon_gpu_waits = {
	.is_wanted = is_wanted,
	.begin = begin,
	.release = release,
	.operation = take_operation,
	.looks_at = looks_at,
	.stall = take_stall,
	.wait = take_wait,
	.time = take_time,
	.advance = advance,
	.visit = visit,
	.finish = finish,
	.complete = complete,
};
