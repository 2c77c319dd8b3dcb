// SPDX-License-Identifier: MIT
#include "profiler/shape/view_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/model/work_names.h"
#include "profiler/tables/kernel_class.h"
#include "symbolize/util/array.h"
#include "symbolize/util/sorted.h"
#include "symbolize/util/text.h"

#define NONE VIEW_NONE
#define ENDS (UINT32_MAX - 1) /* marks the stack of a row or record, to be mapped */
_Static_assert(NONE == UINT32_MAX, "what is not mapped is filled with ones");
#define FRAME_BYTES (sizeof(struct frame_info) + HASH_INDEX_ENTRY_BYTES)

void view_fail(struct view *v, int err)
{
	if (!v->error)
		v->error = err;
}

/* ---- frames and stacks ---- */

uint32_t view_add_text(struct view *v, enum frame_class class, const char *text)
{
	struct frame_info frame = {.class = class, .name = text, .short_name = text};
	uint32_t at = named_stacks_find_name(&v->stacks, text);

	frame_info_pseudo(&frame);
	if (at == RECORD_NONE)
		at = named_stacks_add_name(&v->stacks, &frame);
	if (v->stacks.failed)
		view_fail(v, -ENOMEM);
	return at;
}

uint32_t view_push(struct view *v, uint32_t outer, uint32_t frame)
{
	uint32_t at;

	if (!named_stacks_push(&v->stacks, outer, frame, &v->memory, &at))
		at = named_stacks_rest(&v->stacks);
	if (v->stacks.failed)
		view_fail(v, -ENOMEM);
	return at;
}

/* Returns a copy of a stack of the view, inside another stack. */
static uint32_t append(struct view *v, uint32_t outer, uint32_t stack)
{
	uint32_t count = 0;

	if (outer == RESULT_ROOT)
		return stack;
	for (; stack != RESULT_ROOT && !v->error; stack = v->stacks.list[stack].outer) {
		if (array_make_room(&v->path, count, &v->path_capacity, sizeof(*v->path)))
			v->path[count++] = v->stacks.list[stack].frame;
		else
			view_fail(v, -ENOMEM);
	}
	while (count-- > 0)
		outer = view_push(v, outer, v->path[count]);
	return outer;
}

uint32_t view_add_label(struct view *v, enum frame_class class, const char *label)
{
	const char *kept = intern_find(&v->strings, label);

	if (!kept && quota_take(&v->memory, FRAME_BYTES))
		kept = quota_intern(&v->memory, &v->strings, label);
	return kept ? view_add_text(v, class, kept) : NONE;
}

/* Returns the label of a part that a stack tells, as view_add_label does. */
static uint32_t label_of_stack(struct view *v, uint8_t part, uint32_t told_by)
{
	uint32_t at = told_by == GROUPING_NONE ? v->base->frame_count : told_by;
	uint32_t *label = &v->labels[part - GROUPING_CLASS][at];
	char *text;

	if (*label != NONE)
		return *label;
	text = grouping_frame_text(&v->result, part, told_by);
	if (text)
		*label = view_add_label(v, CLASS_PLACE, text);
	else
		view_fail(v, -ENOMEM);
	free(text);
	return *label;
}

/* Finds the label of a part. Returns false if the part has no frame. */
static bool find_label(struct view *v, uint8_t part, const struct view_origin *o, uint32_t *label)
{
	const struct result *r = v->base;
	char text[GROUPING_TEXT_BYTES];
	uint32_t told_by;

	if (!grouping_is_of_stack(part)) {
		if (!grouping_text(r->place_names, r->device_names, &r->places[o->place],
				   (enum place_part)part, text))
			return false;
		*label = view_add_label(v, CLASS_PLACE, text);
		return true;
	}
	if (part == GROUPING_CLASS && o->kind != ROW_GPU)
		return false;
	told_by = grouping_frame(r, part, o->stack);
	if (told_by == GROUPING_NONE && o->kind != ROW_GPU)
		return false;
	*label = label_of_stack(v, part, told_by);
	return true;
}

/* Returns the stack of the frames of --by. */
static uint32_t group_of(struct view *v, const struct view_origin *origin)
{
	const struct grouping *g = &v->options->by;
	uint32_t at = RESULT_ROOT, label;

	for (uint8_t i = 0; i < g->count; i++)
		if (find_label(v, g->parts[i], origin, &label))
			at = label == NONE ? named_stacks_rest(&v->stacks)
					   : view_push(v, at, label);
	return at;
}

uint32_t view_stack_at(struct view *v, const struct view_origin *origin, uint32_t stack)
{
	return append(v, group_of(v, origin), stack);
}

/* Makes room for the labels of parts that stacks tell. Returns false if out of memory. */
static bool allocate_labels(struct view *v)
{
	size_t size = (v->base->frame_count + (size_t)1) * sizeof(**v->labels);

	for (uint8_t i = 0; i < v->options->by.count; i++) {
		uint8_t part = v->options->by.parts[i];
		uint32_t **labels;

		if (!grouping_is_of_stack(part))
			continue;
		labels = &v->labels[part - GROUPING_CLASS];
		*labels = malloc(size);
		if (!*labels)
			return false;
		memset(*labels, 0xff, size);
	}
	return true;
}

/* ---- stacks in use ---- */

#define OF_SAMPLES (1u << TIMELINE_CPU_SAMPLE)

/* Returns the result's stack of records with the number `i`: of samples, or of the others. */
static uint32_t sample_stack(const struct result *r, uint32_t i)
{
	return r->sample_stacks ? r->sample_stacks[i] : i;
}

static uint32_t call_stack(const struct result *r, uint32_t i)
{
	return r->call_stacks ? r->call_stacks[i] : i;
}

static void want_record_stacks(struct view *v)
{
	const struct result *r = v->base;

	for (uint32_t i = 0; i < r->record_stack_count && r->timeline; i++) {
		uint32_t kinds = timeline_kinds_with_stack(r->timeline, (struct stack_id){i});

		if (kinds & OF_SAMPLES)
			v->mapped[sample_stack(r, i)] = ENDS;
		if (kinds & ~OF_SAMPLES)
			v->mapped[call_stack(r, i)] = ENDS;
	}
}

static uint32_t map_stack(struct view *v, uint32_t stack)
{
	const struct stack_info *s = &v->base->stacks[stack];

	if (v->progress)
		return view_fold_stack(v, stack, v->mapped[stack] == ENDS);
	return view_push(v, v->mapped[s->outer], s->frame);
}

/* Maps all stacks of rows and records, and their outer stacks. */
static void map_stacks(struct view *v)
{
	const struct result *r = v->base;

	for (uint32_t i = 0; i < r->row_count; i++)
		v->mapped[r->rows[i].stack] = ENDS;
	want_record_stacks(v);
	for (uint32_t i = r->stack_count; i-- > 1;)
		if (v->mapped[i] != NONE && v->mapped[r->stacks[i].outer] == NONE)
			v->mapped[r->stacks[i].outer] = 0;
	v->mapped[RESULT_ROOT] = RESULT_ROOT;
	for (uint32_t i = 1; i < r->stack_count && !v->error; i++)
		if (v->mapped[i] != NONE)
			v->mapped[i] = map_stack(v, i);
}

/* Gives records the view's numbers of their stacks. */
static void map_records(struct view *v)
{
	const struct result *r = v->base;
	uint32_t count = r->record_stack_count;

	if (!r->timeline)
		return;
	v->sample_stacks = malloc((count + 1) * sizeof(*v->sample_stacks));
	v->call_stacks = malloc((count + 1) * sizeof(*v->call_stacks));
	if (!v->sample_stacks || !v->call_stacks) {
		view_fail(v, -ENOMEM);
		return;
	}
	for (uint32_t i = 0; i < count; i++) {
		uint32_t kinds = timeline_kinds_with_stack(r->timeline, (struct stack_id){i});

		v->sample_stacks[i] =
			kinds & OF_SAMPLES ? v->mapped[sample_stack(r, i)] : RESULT_ROOT;
		v->call_stacks[i] = kinds & ~OF_SAMPLES ? v->mapped[call_stack(r, i)] : RESULT_ROOT;
	}
}

/* ---- rows ---- */

void view_add_row(struct view *v, const struct row *row)
{
	const uint32_t key[] = {row->kind, row->stack, row->place};
	uint32_t at = record_find(&v->rows, &key);

	v->uses_place[row->place] = true;
	if (at != RECORD_NONE) {
		v->rows.list[at].count += row->count;
		v->rows.list[at].ns += row->ns;
		v->rows.list[at].bytes += row->bytes;
	} else if (record_add(&v->rows, &key, row) == RECORD_NONE) {
		view_fail(v, -ENOMEM);
	}
}

void view_count(struct view *v, const struct row *row)
{
	if (v->frames_of)
		saturated_add(&v->result.all_ns[row->kind], row->ns);
}

/* Adds a row of the result, with the view's stack. */
static void view_row(struct view *v, struct row row)
{
	const struct view_origin origin = {row.kind, row.stack, row.place};

	row.stack = view_stack_at(v, &origin, v->mapped[row.stack]);
	view_add_row(v, &row);
}

static bool is_work(const struct frame_info *frame)
{
	return frame->class == CLASS_GPU_KERNEL || frame->class == CLASS_GPU_WORK;
}

bool view_has_frames(const struct view *v, uint32_t stack)
{
	if (!v->frames_of)
		return true;
	return !(v->frames_of[stack] & VIEW_LEFT_OUT) &&
	       (v->frames_of[stack] & VIEW_UNDER || !v->options->slice.under.text);
}

bool view_has(const struct view *v, uint32_t kind, uint32_t stack, uint32_t place)
{
	const struct slice *s = &v->options->slice;
	const struct result *r = v->base;

	if (s->kinds && !(s->kinds & 1u << kind))
		return false;
	if (!v->has_place[place] || (kind == ROW_WAIT && slice_is_of_gpu(s)))
		return false;
	if (!s->kernel.text)
		return true;
	for (; kind == ROW_WAIT && stack != RESULT_ROOT; stack = r->stacks[stack].outer)
		if (is_work(&r->frames[r->stacks[stack].frame]))
			break; /* the launch is further inside */
	stack = result_work_stack(r, stack);
	return (kind == ROW_GPU || kind == ROW_WAIT) && stack != RESULT_ROOT &&
	       slice_has_work(s, &r->frames[r->stacks[stack].frame]);
}

/* Returns the next part of a sum. `sum` is that of all parts so far; the parts add up exactly. */
static uint64_t divided(uint64_t *sum, uint64_t part, uint32_t count)
{
	uint64_t before = *sum / count + (*sum % count >= count / 2 + count % 2);

	saturated_add(sum, part);
	return *sum / count + (*sum % count >= count / 2 + count % 2) - before;
}

/*
 * Divides the rows by the number of steps. Rows are rounded so that the rows of a kind add up to
 * their sum by the number of steps.
 */
static void divide_rows(struct view *v)
{
	struct row sums[ROW_KINDS] = {{.ns = 0}};
	uint32_t count = v->options->step_count;

	for (int kind = 0; kind < ROW_KINDS; kind++)
		v->result.all_ns[kind] /= count;
	for (uint32_t i = 0; i < v->rows.count; i++) {
		struct row *row = &v->rows.list[i], *sum = &sums[row->kind];

		row->count = divided(&sum->count, row->count, count);
		row->ns = divided(&sum->ns, row->ns, count);
		row->bytes = divided(&sum->bytes, row->bytes, count);
	}
}

static void view_rows(struct view *v)
{
	for (uint32_t i = 0; i < v->base->row_count && !v->error; i++) {
		const struct row *row = &v->base->rows[i];

		if (!view_has(v, row->kind, row->stack, row->place))
			continue;
		view_count(v, row);
		if (view_has_frames(v, row->stack))
			view_row(v, *row);
	}
}

/* ---- stacks and processes that are left ---- */

/* Renumbers the stacks of records. */
static void renumber_records(struct view *v, const uint32_t *numbers)
{
	for (uint32_t i = 0; v->sample_stacks && i < v->base->record_stack_count; i++) {
		v->sample_stacks[i] = numbers[v->sample_stacks[i]];
		v->call_stacks[i] = numbers[v->call_stacks[i]];
	}
}

/* Marks with 1 the stacks of rows and records, their outer stacks, and their frames. */
static void mark_used(struct view *v, uint32_t *stacks, uint32_t *frames)
{
	const struct timeline *t = v->timeline ? v->timeline : v->base->timeline;

	stacks[RESULT_ROOT] = 1;
	for (uint32_t i = 0; i < v->rows.count; i++)
		stacks[v->rows.list[i].stack] = 1;
	for (uint32_t i = 0; v->sample_stacks && i < v->base->record_stack_count; i++) {
		uint32_t kinds = timeline_kinds_with_stack(t, (struct stack_id){i});

		if (kinds & OF_SAMPLES)
			stacks[v->sample_stacks[i]] = 1;
		if (kinds & ~OF_SAMPLES)
			stacks[v->call_stacks[i]] = 1;
	}
	for (uint32_t i = v->stacks.count; i-- > RESULT_ROOT + 1;) {
		if (!stacks[i])
			continue;
		stacks[v->stacks.list[i].outer] = 1;
		frames[v->stacks.list[i].frame] = 1;
	}
}

/*
 * Drops the stacks and frames that no row or record has. They would make files larger, and reveal
 * what the view leaves out.
 */
static void drop_unused(struct view *v)
{
	uint32_t *stacks = calloc(v->stacks.count + 1u, sizeof(*stacks));
	uint32_t *frames = calloc(v->stacks.frames.count + 1u, sizeof(*frames));
	uint32_t count = 0;

	if (!stacks || !frames) {
		view_fail(v, -ENOMEM);
		free(stacks);
		free(frames);
		return;
	}
	mark_used(v, stacks, frames);
	for (uint32_t i = 0; i < v->stacks.frames.count; i++) {
		if (!frames[i])
			continue;
		v->stacks.frames.list[count] = v->stacks.frames.list[i];
		frames[i] = count++;
	}
	v->stacks.frames.count = count;
	count = 0;
	for (uint32_t i = 0; i < v->stacks.count; i++) {
		struct stack_info s = v->stacks.list[i];

		if (!stacks[i])
			continue;
		stacks[i] = count;
		v->stacks.list[count++] = i == RESULT_ROOT
						  ? s
						  : (struct stack_info){.outer = stacks[s.outer],
									.frame = frames[s.frame]};
	}
	v->stacks.count = count;
	for (uint32_t i = 0; i < v->rows.count; i++)
		v->rows.list[i].stack = stacks[v->rows.list[i].stack];
	renumber_records(v, stacks);
	free(stacks);
	free(frames);
}

static uint64_t thread_key(uint32_t process, uint32_t thread)
{
	return (uint64_t)process << 32 | thread;
}

static bool has_key(const uint64_t *keys, size_t count, uint64_t key)
{
	return count && bsearch(&key, keys, count, sizeof(key), sorted_compare);
}

/* Chooses the processes and threads of the places in use. */
static void choose_processes(struct view *v)
{
	const struct result *r = v->base;
	uint64_t *keys = calloc(2 * (size_t)r->place_count + 1, sizeof(*keys));
	uint32_t processes = 0, threads = 0;
	size_t count = 0;

	v->processes = calloc(r->process_count + 1u, sizeof(*v->processes));
	v->threads = calloc(r->thread_count + 1u, sizeof(*v->threads));
	if (!keys || !v->processes || !v->threads) {
		view_fail(v, -ENOMEM);
		free(keys);
		return;
	}
	for (uint32_t i = 0; i < r->place_count; i++) {
		const uint32_t *part = r->places[i].part;

		if (!v->uses_place[i])
			continue;
		keys[count++] = thread_key(part[PLACE_PROCESS], part[PLACE_THREAD]);
		keys[count++] = thread_key(part[PLACE_PROCESS], PLACE_UNKNOWN);
	}
	if (count)
		qsort(keys, count, sizeof(*keys), sorted_compare);
	for (uint32_t i = 0; i < r->process_count; i++)
		if (has_key(keys, count, thread_key(r->processes[i].id, PLACE_UNKNOWN)))
			v->processes[processes++] = r->processes[i];
	for (uint32_t i = 0; i < r->thread_count; i++)
		if (has_key(keys, count, thread_key(r->threads[i].process, r->threads[i].tid)))
			v->threads[threads++] = r->threads[i];
	free(keys);
	v->result.processes = v->processes;
	v->result.process_count = processes;
	v->result.threads = v->threads;
	v->result.thread_count = threads;
}

/* ---- names ---- */

/* Returns the short name with its prefix: texts have no colours. */
static const char *text_name(struct view *v, const struct frame_info *frame)
{
	const char *prefix = frame->class == CLASS_GPU_KERNEL ? work_frame(GPU_WORK_KERNEL)
			     : frame->class == CLASS_CALL     ? PSEUDO_CALL
							      : "";
	const char *kept;
	char *text;

	if (starts_with(frame->short_name, prefix))
		return frame->short_name;
	if (asprintf(&text, "%s%s", prefix, frame->short_name) < 0) {
		view_fail(v, -ENOMEM);
		return frame->name;
	}
	kept = quota_intern(&v->memory, &v->strings, text);
	free(text);
	return kept ? kept : frame->name;
}

static void choose_names(struct view *v)
{
	if (v->options->names == VIEW_NAMES_FULL)
		for (uint32_t i = 0; i < v->stacks.frames.count; i++)
			v->stacks.frames.list[i].short_name = v->stacks.frames.list[i].name;
	if (v->options->names != VIEW_NAMES_SHORT)
		return;
	v->named = malloc((v->stacks.frames.count + 1) * sizeof(*v->named));
	if (!v->named)
		view_fail(v, -ENOMEM);
	for (uint32_t i = 0; i < v->stacks.frames.count && !v->error; i++) {
		v->named[i] = v->stacks.frames.list[i];
		v->named[i].name = text_name(v, &v->stacks.frames.list[i]);
	}
}

/* ---- the view ---- */

unsigned int view_needs(const struct view_options *options)
{
	return slice_needs(&options->slice);
}

uint32_t view_place_mask(const struct view_options *options)
{
	return view_needs(options) ? PLACES_ALL : grouping_mask(&options->by);
}

static bool changes_stacks(const struct view_options *options)
{
	return options->my_code || options->trim_to.text;
}

bool view_changes(const struct view_options *options)
{
	return options->by.count > 0 || slice_is_part(&options->slice) || changes_stacks(options) ||
	       options->names != VIEW_NAMES_DEFAULT || options->kernel_classes;
}

void view_options_release(struct view_options *options)
{
	slice_release(&options->slice);
	slice_release_match(&options->trim_to);
	kernel_classes_free(options->kernel_classes);
}

/* Notes the options that left something out. Returns false if out of memory. */
static bool note_options(struct view *v)
{
	const struct view_options *o = v->options;
	size_t size;
	FILE *out = open_memstream(&v->shown, &size);

	if (!out)
		return false;
	if (v->base->totals.shown) /* left out by the run itself */
		fprintf(out, " %s", v->base->totals.shown);
	slice_print(&o->slice, out);
	if (o->step_count)
		fprintf(out, " --per-step");
	if (o->my_code)
		fprintf(out, " --my-code");
	for (uint32_t i = 0; i < o->my_path_count; i++)
		fprintf(out, " --my-path %s", o->my_paths[i]);
	if (o->trim_to.text)
		fprintf(out, " --trim-to %s", o->trim_to.text);
	return fclose(out) == 0;
}

/* Finds the stacks of the slice by the names of frames. Returns false if out of memory. */
static bool choose_stacks(struct view *v)
{
	const struct slice *s = &v->options->slice;
	const struct result *r = v->base;
	uint8_t *frames;
	bool has_memory;

	if (!slice_is_of_frames(s))
		return true;
	frames = calloc(r->frame_count + (size_t)1, 1);
	v->frames_of = calloc(r->stack_count + (size_t)1, 1);
	for (uint32_t i = 0; frames && i < r->frame_count; i++) {
		bool is_under = slice_is_under(s, r->frames[i].name);
		bool is_left_out = slice_is_left_out(s, r->frames[i].name);

		v->has_under |= is_under;
		v->has_left_out |= is_left_out;
		frames[i] = (is_under ? VIEW_UNDER : 0) | (is_left_out ? VIEW_LEFT_OUT : 0);
	}
	for (uint32_t i = RESULT_ROOT + 1; frames && v->frames_of && i < r->stack_count; i++)
		v->frames_of[i] = v->frames_of[r->stacks[i].outer] | frames[r->stacks[i].frame];
	has_memory = frames && v->frames_of;
	free(frames);
	return has_memory;
}

static bool allocate(struct view *v)
{
	const struct result *r = v->base;

	v->mapped = malloc((r->stack_count + 1) * sizeof(*v->mapped));
	v->has_place = malloc(r->place_count + 1);
	v->uses_place = calloc(r->place_count + 1u, 1);
	if (!v->mapped || !v->has_place || !v->uses_place ||
	    !array_reserve(&v->stacks.frames.list, 0, r->frame_count, &v->stacks.frames.capacity,
			   sizeof(*r->frames)))
		return false;
	memset(v->mapped, 0xff, r->stack_count * sizeof(*v->mapped));
	for (uint32_t i = 0; i < r->place_count; i++)
		v->has_place[i] = slice_has_place(&v->options->slice, r, i);
	if (r->frame_count)
		memcpy(v->stacks.frames.list, r->frames,
		       r->frame_count * sizeof(*v->stacks.frames.list));
	v->stacks.frames.count = r->frame_count;
	if (!choose_stacks(v) || !note_options(v) || !allocate_labels(v))
		return false;
	return named_stacks_begin(&v->stacks);
}

/* Frees memory that only building needs. */
static void drop_memory_of_building(struct view *v)
{
	named_stacks_finish(&v->stacks);
	hash_index_release(&v->rows.set.index);
	free(v->mapped);
	free(v->has_place);
	free(v->frames_of);
	free(v->uses_place);
	free(v->path);
	free(v->changes);
	free(v->progress);
	for (int i = 0; i < GROUPING_STACK_PARTS; i++) {
		free(v->labels[i]);
		v->labels[i] = NULL;
	}
	v->mapped = v->path = NULL;
	v->has_place = v->uses_place = NULL;
	v->frames_of = NULL;
	v->changes = NULL;
	v->progress = NULL;
}

static void build(struct view *v, const char *folder)
{
	bool is_part = slice_is_part(&v->options->slice);

	if (!allocate(v))
		view_fail(v, -ENOMEM);
	if (!v->error && changes_stacks(v->options))
		view_fold_begin(v);
	if (!v->error)
		map_stacks(v);
	if (!v->error)
		map_records(v);
	if (!v->base->timeline && slice_is_of_time(&v->options->slice))
		view_fail(v, -ENODATA);
	if (!v->error && is_part && v->base->timeline)
		view_part_of_timeline(v, folder);
	if (!v->error && !slice_is_of_time(&v->options->slice))
		view_rows(v);
	if (!v->error && v->options->step_count)
		divide_rows(v);
	if (!v->error)
		drop_unused(v);
	if (!v->error && is_part)
		choose_processes(v);
	if (!v->error)
		choose_names(v);
	drop_memory_of_building(v);
	v->result.frames = v->stacks.frames.list;
	v->result.frame_count = v->stacks.frames.count;
	v->result.stacks = v->stacks.list;
	v->result.stack_count = v->stacks.count;
	v->result.rows = v->rows.list;
	v->result.row_count = v->rows.count;
	if (is_part && v->timeline)
		v->result.timeline = v->timeline;
	if (v->options->step_count) /* a mean has no course */
		v->result.timeline = NULL;
	v->result.sample_stacks = v->sample_stacks;
	v->result.call_stacks = v->call_stacks;
	v->result.unnamed.not_kept += v->memory.refused;
	v->result.is_my_code |= v->options->my_code;
	v->result.is_part |= slice_is_part(&v->options->slice);
	v->result.totals.shown = v->shown && v->shown[0] ? v->shown + 1 : NULL;
	if (slice_is_of_time(&v->options->slice))
		view_show_time(v);
	v->text_result = v->result;
	if (v->named)
		v->text_result.frames = v->named;
}

struct view *view_new(const struct result *result, const struct view_options *options,
		      const char *folder, struct quota *memory)
{
	struct view *v = calloc(1, sizeof(*v));
	int err;

	if (!v)
		return NULL;
	v->base = result;
	v->result = *result;
	if (options->kernel_classes)
		v->result.kernel_classes = options->kernel_classes;
	v->options = options;
	v->memory = (struct quota){.limit = SIZE_MAX, .outer = memory};
	build(v, folder);
	if (!v->error)
		return v;
	err = v->error;
	view_free(v);
	errno = -err;
	return NULL;
}

void view_free(struct view *v)
{
	if (!v)
		return;
	named_stacks_release(&v->stacks);
	record_set_release(&v->rows.set);
	free(v->sample_stacks);
	free(v->call_stacks);
	free(v->processes);
	free(v->threads);
	free(v->shown);
	free(v->named);
	timeline_free(v->timeline);
	intern_release(&v->strings);
	quota_return(&v->memory, v->memory.used);
	free(v);
}

const struct result *view_result(const struct view *v)
{
	return &v->result;
}

const struct result *view_text_result(const struct view *v)
{
	return &v->text_result;
}

void view_set_findings(struct view *v, const struct findings *findings)
{
	v->result.findings = findings;
	v->text_result.findings = findings;
}

bool view_has_root(const struct view *v)
{
	return v->has_root;
}

bool view_has_under(const struct view *v)
{
	return v->has_under;
}

bool view_has_left_out(const struct view *v)
{
	return v->has_left_out;
}

bool view_has_own_code(const struct view *v)
{
	return v->has_own;
}
