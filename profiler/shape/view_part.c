// SPDX-License-Identifier: MIT
#include "profiler/shape/view_private.h"

#include <errno.h>
#include <stdio.h>
#include "profiler/shape/rank_waits.h"
#include "profiler/model/launch_finder.h"
#include "profiler/model/pseudo_frames.h"

static const enum row_kind row_kinds[TIMELINE_KINDS] = {
	[TIMELINE_CPU_SAMPLE] = ROW_CPU, [TIMELINE_GPU_OPERATION] = ROW_GPU,
	[TIMELINE_WAIT] = ROW_WAIT,      [TIMELINE_CALL] = ROW_CALL,
	[TIMELINE_LAUNCH] = ROW_GPU,   /* has no row; checked like an operation */
	[TIMELINE_OFF_CPU] = ROW_WAIT, /* short ones are missing: rows are of the whole run */
};

/* An operation's wait, from its start on; until_ns is 0 without a wait. */
struct rank_wait {
	uint64_t until_ns;
	uint32_t rank;
};

/* Returns the time that is `ns` after the command's start. */
static uint64_t at(uint64_t origin_ns, uint64_t ns)
{
	return ns < UINT64_MAX - origin_ns ? origin_ns + ns : UINT64_MAX;
}

/* Returns the time range of --time, or all time. */
static struct slice_range time_of(const struct view *v)
{
	const struct slice *s = &v->options->slice;
	uint64_t origin = v->base->totals.start_ns;

	if (!s->has_time)
		return (struct slice_range){0, UINT64_MAX};
	return (struct slice_range){at(origin, s->from_ns), at(origin, s->to_ns)};
}

/* Returns what is in both ranges; an empty range if nothing is. */
static struct slice_range both(struct slice_range a, struct slice_range b)
{
	struct slice_range range = {a.from_ns > b.from_ns ? a.from_ns : b.from_ns,
				    a.to_ns < b.to_ns ? a.to_ns : b.to_ns};

	if (range.to_ns < range.from_ns)
		range.to_ns = range.from_ns;
	return range;
}

/* Cuts a record to a time range. Returns false if nothing is left. `begins`: it begins there. */
static bool cut(struct timeline_record *record, struct slice_range range, bool *begins)
{
	const struct timeline_record whole = *record;
	uint64_t end = timeline_end_ns(record);

	*begins = record->start_ns >= range.from_ns && record->start_ns < range.to_ns;
	if (!*begins && (record->start_ns >= range.to_ns || end <= range.from_ns))
		return false;
	if (record->start_ns < range.from_ns) {
		record->start_ns = range.from_ns;
		record->duration_ns = end - range.from_ns;
	}
	if (end > range.to_ns)
		record->duration_ns = range.to_ns - record->start_ns;
	if (record->kind == TIMELINE_WAIT) { /* adjoining ranges add up */
		uint64_t before = record->start_ns - whole.start_ns;

		record->bytes = record->duration_ns -
				(timeline_off_cpu_until(&whole, before + record->duration_ns) -
				 timeline_off_cpu_until(&whole, before));
	}
	return true;
}

/* Returns the stack of a wait inside `stack`. */
static uint32_t push_wait(struct view *v, uint32_t stack, const char *text)
{
	const char *kept = intern_string(&v->strings, text);

	if (kept)
		return view_push(v, stack, view_add_text(v, CLASS_WAIT, kept));
	view_fail(v, -ENOMEM);
	return stack;
}

/* Returns true if a stack ends in a wait, as one for pages does. */
static bool is_wait(const struct view *v, uint32_t stack)
{
	return stack != RESULT_ROOT &&
	       v->stacks.frames.list[v->stacks.list[stack].frame].class == CLASS_WAIT;
}

/* Returns the duration of the record's part before `until_ns`, in ns. */
static uint64_t part_before(const struct timeline_record *record, uint64_t until_ns)
{
	if (until_ns <= record->start_ns)
		return 0;
	return until_ns - record->start_ns < record->duration_ns ? until_ns - record->start_ns
								 : record->duration_ns;
}

/* Adds a record to its row. Until `wait.until_ns` the record waits for a rank. */
static void add_record(struct view *v, const struct timeline_record *record, bool begins,
		       struct rank_wait wait)
{
	uint32_t stack = v->mapped[result_record_stack(v->base, record)];
	struct row row = {.kind = row_kinds[record->kind],
			  .place = record->place.number,
			  .count = begins,
			  .ns = record->duration_ns,
			  .bytes = begins ? record->bytes : 0};
	struct row waited = {.kind = ROW_GPU, .place = record->place.number};
	const struct view_origin origin = {row.kind, result_record_stack(v->base, record),
					   row.place};
	char text[sizeof(PSEUDO_WAITING_FOR_RANK) + 16];

	if (record->kind == TIMELINE_LAUNCH || record->kind == TIMELINE_OFF_CPU ||
	    (record->kind == TIMELINE_GPU_OPERATION && gpu_work_is_instant(record->work)))
		return; /* such records have no row in a whole run either */
	if (record->kind == TIMELINE_WAIT) {
		if (!is_wait(v, stack))
			stack = push_wait(v, stack, PSEUDO_WAITING);
		row.ns = timeline_off_cpu_ns(record);
		row.bytes = 0;
	}
	waited.ns = part_before(record, wait.until_ns);
	row.ns -= waited.ns;
	view_count(v, &row);
	view_count(v, &waited);
	if (!view_has_frames(v, result_record_stack(v->base, record)))
		return;
	row.stack = view_stack_at(v, &origin, stack);
	view_add_row(v, &row);
	if (!waited.ns)
		return;
	snprintf(text, sizeof(text), PSEUDO_WAITING_FOR_RANK "%u]", wait.rank);
	waited.stack = view_stack_at(v, &origin, push_wait(v, stack, text));
	view_add_row(v, &waited);
}

/* Adds a record that is in the part, or a piece of it. */
static void keep_record(struct view *v, const struct timeline_record *whole,
			const struct timeline_record *piece, bool begins, struct rank_wait wait)
{
	const struct timeline_shape *shape;
	struct timeline_record record = *piece;

	if (slice_is_of_time(&v->options->slice))
		add_record(v, &record, begins, wait);
	if (!view_has_frames(v, result_record_stack(v->base, whole)))
		return;
	v->uses_place[record.place.number] = true;
	shape = timeline_shape(v->base->timeline, whole->shape);
	record.shape = shape ? timeline_number_shape(v->timeline, shape) : 0;
	timeline_add(v->timeline, &record); /* the timeline counts losses */
}

/* Adds the piece of a record that is in a time range. */
static void view_piece(struct view *v, const struct timeline_record *record,
		       struct slice_range range, struct rank_wait wait)
{
	struct timeline_record piece = *record;
	bool begins;

	if (cut(&piece, range, &begins))
		keep_record(v, record, &piece, begins, wait);
}

/* Returns whether a record belongs to the step that launched it, and not to that of its time. */
static bool is_launched(const struct timeline_record *record)
{
	return record->kind == TIMELINE_LAUNCH || record->kind == TIMELINE_GPU_OPERATION;
}

static void view_record(struct view *v, const struct timeline_record *record, uint64_t launched_ns,
			struct rank_wait wait)
{
	const struct slice_steps *steps = &v->options->slice.steps;
	const struct slice_range time = time_of(v);

	if (record->place.number >= v->base->place_count) {
		view_fail(v, -EIO);
		return;
	}
	if (!view_has(v, row_kinds[record->kind], result_record_stack(v->base, record),
		      record->place.number))
		return;
	if (!slice_is_of_time(&v->options->slice)) {
		keep_record(v, record, record, true, wait);
	} else if (!slice_has_steps(&v->options->slice)) {
		view_piece(v, record, time, wait);
	} else if (is_launched(record)) {
		if (slice_has_moment(steps, launched_ns))
			view_piece(v, record, time, wait);
	} else {
		uint64_t end = timeline_end_ns(record);

		for (uint32_t i = slice_range_after(steps, record->start_ns);
		     i < steps->range_count && (steps->ranges[i].from_ns < end ||
						steps->ranges[i].from_ns <= record->start_ns);
		     i++)
			view_piece(v, record, both(steps->ranges[i], time), wait);
	}
}

/* Reads the records of the timeline, with facts that others tell. */
struct record_source {
	struct rank_waits *waits;       /* NULL unless ranks are merged */
	struct launch_finder *launches; /* reads the records if steps are chosen; else `reader` */
	struct timeline_reader *reader;
};

/* Returns false, with the error set, if the records cannot be read. */
static bool source_begin(struct view *v, struct record_source *source)
{
	const struct slice *s = &v->options->slice;

	if (slice_is_of_time(s) && v->base->rank_count &&
	    !(source->waits = rank_waits_new(v->base, &v->memory)))
		view_fail(v, -errno);
	if (slice_has_steps(s))
		source->launches = launch_finder_new(v->base, NULL, NULL);
	else
		source->reader = timeline_reader_new(v->base->timeline);
	if (!source->launches && !source->reader)
		view_fail(v, -ENOMEM);
	return !v->error;
}

static void source_release(struct record_source *source)
{
	rank_waits_free(source->waits);
	launch_finder_free(source->launches);
	timeline_reader_free(source->reader);
}

/* Reads a record. Returns as launch_finder_next does. */
static int source_next(struct record_source *source, const struct timeline_record **record,
		       const struct indexed_launch **launch)
{
	*launch = NULL;
	return source->launches ? launch_finder_next(source->launches, record, launch)
				: timeline_reader_next(source->reader, record);
}

/*
 * Views the record with this number. Operations with an unknown launch count as launched at once.
 */
static void view_linked(struct view *v, struct record_source *source, uint64_t number,
			const struct timeline_record *record, const struct indexed_launch *launch)
{
	struct rank_wait wait = {.until_ns = 0};
	uint64_t ns = source->waits ? rank_waits_next(source->waits, number, &wait.rank) : 0;

	if (ns)
		wait.until_ns = record->start_ns + ns;
	view_record(v, record, launch ? launch->start_ns : record->start_ns, wait);
}

void view_part_of_timeline(struct view *v, const char *folder)
{
	struct record_source source = {.waits = NULL};
	const struct timeline_record *record;
	const struct indexed_launch *launch;
	int more = 1;

	v->timeline = timeline_new(folder, NULL);
	if (!v->timeline)
		view_fail(v, -errno);
	else if (source_begin(v, &source))
		for (uint64_t i = 0;
		     !v->error && (more = source_next(&source, &record, &launch)) > 0; i++)
			view_linked(v, &source, i, record, launch);
	source_release(&source);
	if (more < 0)
		view_fail(v, more);
	if (v->timeline)
		timeline_finish(v->timeline);
}

void view_show_time(struct view *v)
{
	const struct slice *s = &v->options->slice;
	struct slice_range range = time_of(v);

	if (s->steps.range_count)
		range = both(range,
			     (struct slice_range){s->steps.ranges[0].from_ns,
						  s->steps.ranges[s->steps.range_count - 1].to_ns});
	if (v->options->step_count)
		range.to_ns =
			range.from_ns + (range.to_ns - range.from_ns) / v->options->step_count;
	v->result.shown_from_ns = range.from_ns;
	v->result.shown_to_ns = range.to_ns;
	v->result.is_by_launch = slice_has_steps(s) && !s->has_time;
}
