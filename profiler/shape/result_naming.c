// SPDX-License-Identifier: MIT
#include "profiler/shape/result_naming_private.h"

#include <stdlib.h>
#include <string.h>
#include "profiler/base/cuda_functions.h"
#include "profiler/shape/idle_threads.h"
#include "profiler/shape/path_links.h"
#include "symbolize/debuginfod.h"
#include "symbolize/util/array.h"
#include "symbolize/util/text.h"

#define NONE UINT32_MAX
#define NONE_BYTE 0xff /* four such bytes are NONE */
_Static_assert(NONE == HASH_INDEX_NONE, "one value for none");

/* ---- stacks ---- */

static bool has_frame(const struct naming *n, uint32_t stack, uint32_t frame)
{
	for (; stack != RESULT_ROOT; stack = n->stacks.list[stack].outer)
		if (n->stacks.list[stack].frame == frame)
			return true;
	return false;
}

/*
 * Returns a stack with one more frame inside, or the stack for all stacks beyond the quota. Of
 * functions that compile and call each other only the outermost has its mark.
 */
static uint32_t push(struct naming *n, uint32_t outer, uint32_t frame)
{
	uint32_t at;

	if (n->stacks.frames.list[frame].class == CLASS_PHASE && has_frame(n, outer, frame))
		return outer;
	if (!named_stacks_push(&n->stacks, outer, frame, &n->memory, &at))
		at = named_stacks_rest(&n->stacks);
	n->failed |= n->stacks.failed;
	return at;
}

static uint32_t push_names(struct naming *n, uint32_t outer, struct stack_id stack)
{
	const struct names *names = naming_names_of(n, stack);

	for (uint32_t i = 0; i < names->count; i++)
		outer = push(n, outer, n->list[names->first + i]);
	return outer;
}

static uint32_t push_text(struct naming *n, uint32_t outer, enum frame_class class,
			  const char *text)
{
	return push(n, outer,
		    naming_add_frame(n, &(struct frame_info){.class = class, .name = text}));
}

static void add_to_path(struct naming *n, uint32_t *count, uint32_t value)
{
	if (array_make_room(&n->path, *count, &n->path_capacity, sizeof(*n->path)))
		n->path[(*count)++] = value;
	else
		n->failed = true;
}

/* Lists the stacks from `stack` (included) outwards to `until` (excluded). Returns the count. */
static uint32_t list_path(struct naming *n, struct stack_id stack, struct stack_id until)
{
	uint32_t count = 0;

	for (; !same_id(stack, until) && !n->failed;
	     stack = stack_table_outer(n->in->stacks, stack))
		add_to_path(n, &count, stack.number);
	return count;
}

/* Names a stack with all its frames. */
static uint32_t name_whole(struct naming *n, struct stack_id stack)
{
	struct stack_id known = stack;
	uint32_t count, at;

	if (same_id(stack, STACK_EMPTY))
		return push_text(n, RESULT_ROOT, CLASS_MARK, PSEUDO_NO_STACK);
	while (!same_id(known, STACK_EMPTY) && n->whole[known.number] == NONE)
		known = stack_table_outer(n->in->stacks, known);
	at = same_id(known, STACK_EMPTY) ? RESULT_ROOT : n->whole[known.number];
	count = list_path(n, stack, known);
	while (count-- > 0) {
		at = push_names(n, at, (struct stack_id){n->path[count]});
		n->whole[n->path[count]] = at;
	}
	return at;
}

/* Returns true for a frame that ends the part of a stack in which a launch is looked for. */
static bool is_boundary(const struct frame *frame)
{
	switch (frame->kind) {
	case FRAME_API:
	case FRAME_MARK:
	case FRAME_WAIT:
	case FRAME_SPIN:
	case FRAME_IDLE:
	case FRAME_GPU_KERNEL:
	case FRAME_GPU_WORK:
	case FRAME_CALL:
		return true;
	default:
		return false;
	}
}

/*
 * Returns the program's own call of CUDA: `api`, or the function of the runtime that called `api`
 * of the driver. The innermost one counts: a library may have a cudaMemcpy of its own that launches
 * kernels. The path under way has `count` stacks.
 */
static const char *own_call(struct naming *n, uint32_t count, const char *api)
{
	if (!api || starts_with(api, "cuda"))
		return api;
	for (uint32_t i = 1; i < count && !n->failed; i++) {
		struct stack_id stack = {n->path[i]};
		const struct names *names = naming_names_of(n, stack);

		if (!naming_is_code(stack_table_frame(n->in->stacks, stack)))
			continue;
		for (uint32_t k = names->count; k-- > 0;) {
			const char *name = n->stacks.frames.list[n->list[names->first + k]].name;

			if (cuda_function_is_runtime(name))
				return name;
		}
	}
	return api;
}

/* Pushes the names of a frame, up to a launch. Returns true at a launch: the stack ends there. */
static bool push_up_to_launch(struct naming *n, uint32_t *at, struct stack_id stack,
			      const char *api)
{
	const struct names *names = naming_names_of(n, stack);
	bool may_end = naming_is_code(stack_table_frame(n->in->stacks, stack));

	for (uint32_t i = 0; i < names->count && !n->failed; i++) {
		uint32_t frame = n->list[names->first + i];
		const char *name = n->stacks.frames.list[frame].name;

		*at = push(n, *at, frame);
		if (may_end && (cuda_launch_function_of(name) || (api && strcmp(name, api) == 0)))
			return true;
	}
	return false;
}

/* Names the stack of a launch, wait or timed call, up to the program's own call of CUDA. */
static uint32_t name_launched(struct naming *n, struct stack_id stack)
{
	const struct frame *frame = stack_table_frame(n->in->stacks, stack);
	struct stack_id until;
	uint32_t count, at;
	const char *api = frame && frame->kind == FRAME_API ? frame->text : NULL, *call;
	bool has_ended = false;

	if (same_id(stack, STACK_EMPTY))
		return RESULT_ROOT;
	if (n->launched[stack.number] != NONE)
		return n->launched[stack.number];
	until = stack_table_outer(n->in->stacks, stack);
	while (!same_id(until, STACK_EMPTY) &&
	       !is_boundary(stack_table_frame(n->in->stacks, until)))
		until = stack_table_outer(n->in->stacks, until);
	at = name_launched(n, until);
	count = list_path(n, stack, until);
	call = own_call(n, count, api);
	while (count-- > 1 && !has_ended)
		has_ended = push_up_to_launch(n, &at, (struct stack_id){n->path[count]}, call);
	/* a frame with the call's name may have ended the walk */
	if (!has_ended || !api)
		at = push_names(n, at, stack);
	n->launched[stack.number] = at;
	return at;
}

/* ---- rows ---- */

/*
 * Returns true if a thread computed while it waited for the GPU. Then the stack ends at the launch.
 */
static bool has_spun(const struct naming *n, struct stack_id stack)
{
	const struct stack_table *stacks = n->in->stacks;
	const struct frame *frame = stack_table_frame(stacks, stack);

	if (!frame || !is_boundary(frame))
		return false;
	for (; (frame = stack_table_frame(stacks, stack)); stack = stack_table_outer(stacks, stack))
		if (frame->kind == FRAME_SPIN)
			return true;
	return false;
}

static void name_rows(struct naming *n)
{
	uint32_t count;
	const struct profile_row *rows = profile_rows(n->in->profile, &count);

	for (uint32_t i = 0; i < count && !n->failed; i++) {
		struct row *row = &n->rows[n->result.row_count];

		if (rows[i].count == 0 && rows[i].ns == 0)
			continue;
		*row = (struct row){.kind = rows[i].kind,
				    .place = rows[i].place.number,
				    .count = rows[i].count,
				    .ns = rows[i].ns,
				    .bytes = rows[i].bytes};
		row->stack = rows[i].kind == ROW_CPU && !has_spun(n, rows[i].stack)
				     ? name_whole(n, rows[i].stack)
				     : name_launched(n, rows[i].stack);
		n->result.row_count++;
	}
}

/* Puts a frame around the stack of an idle thread. */
static uint32_t push_around(struct naming *n, const char *text, uint32_t stack)
{
	uint32_t count = 0, at = stack;
	const char *kept = naming_keep(n, strdup(text), PSEUDO_IDLE_THREADS "]");

	for (; at != RESULT_ROOT && !n->failed; at = n->stacks.list[at].outer)
		add_to_path(n, &count, n->stacks.list[at].frame);
	at = push_text(n, RESULT_ROOT, CLASS_MARK, kept);
	while (count-- > 0)
		at = push(n, at, n->path[count]);
	return at;
}

static void fold_idle_threads(struct naming *n)
{
	const struct result *r = &n->result;
	bool *is_idle = calloc(r->row_count + 1u, sizeof(*is_idle));
	char text[IDLE_THREADS_FRAME_BYTES];

	n->failed |= !is_idle || idle_threads_find(r, is_idle) != 0;
	for (uint32_t i = 0; i < r->row_count && !n->failed; i++) {
		if (!is_idle[i])
			continue;
		idle_threads_frame(r, &n->rows[i], text);
		n->rows[i].stack = push_around(n, text, n->rows[i].stack);
	}
	free(is_idle);
}

static void name_counters(struct naming *n)
{
	const struct counter_table *in = n->in->counters;

	memcpy(n->counters.metrics, in->metrics, sizeof(in->metrics));
	n->counters.metric_count = in->metric_count;
	n->counters.not_kept = in->not_kept;
	n->counters.rows.list = calloc(in->rows.count + 1u, sizeof(*in->rows.list));
	if (!n->counters.rows.list) {
		n->failed = true;
		return;
	}
	for (uint32_t i = 0; i < in->rows.count && !n->failed; i++) {
		struct counter_row *row = &n->counters.rows.list[n->counters.rows.count++];

		*row = in->rows.list[i];
		row->stack = name_launched(n, (struct stack_id){row->stack});
	}
	if (!counters_make_room(&n->counters, in->value_count))
		n->failed = true;
	for (uint32_t i = 0; i < in->value_count && !n->failed; i++)
		counters_add_value(&n->counters, &in->values[i]);
}

static uint32_t copy_stack(void *context, uint32_t stack)
{
	return name_launched(context, (struct stack_id){stack});
}

static const char *copy_kernel(void *context, const char *kernel)
{
	struct naming *n = context;

	if (kernel != n->kernel) /* other work has the name of its frame already: "[GPU_Memset]" */
		n->named_kernel = kernel[0] == '[' ? kernel : naming_kernel_text(n, kernel);
	n->kernel = kernel;
	return n->named_kernel;
}

static void name_tables(struct naming *n)
{
	const struct table_copying how = {.stack = copy_stack, .kernel = copy_kernel, .context = n};

	n->failed |= result_tables_copy(&n->tables, n->in->tables, &how) != 0;
}

/* ---- names of all stacks ---- */

#define OF_SAMPLES (1u << TIMELINE_CPU_SAMPLE)

/* Names the stacks of the timeline's records. */
static void name_records(struct naming *n)
{
	const struct timeline *timeline = n->in->timeline;
	uint32_t count = timeline ? stack_table_count(n->in->stacks) : 0;

	for (uint32_t i = 0; i < count && !n->failed; i++) {
		const struct stack_id stack = {i};
		uint32_t kinds = timeline_kinds_with_stack(timeline, stack);

		if (kinds & OF_SAMPLES)
			n->whole[i] = name_whole(n, stack);
		if (kinds & ~OF_SAMPLES)
			n->launched[i] = name_launched(n, stack);
	}
}

/* Announces a place in code whose name will be asked for. */
static void want_frame(struct naming *n, const struct frame *frame)
{
	if (naming_is_code(frame) || (frame->kind == FRAME_CALL && frame->code.module > MODULE_JIT))
		symbolizer_want_name(n->in->symbolizer, frame->code, frame->kind == FRAME_RETURN);
}

/* Announces the frames of a stack that were not seen before. */
static void want_stack(struct naming *n, bool *seen, struct stack_id stack)
{
	for (; !same_id(stack, STACK_EMPTY) && !seen[stack.number];
	     stack = stack_table_outer(n->in->stacks, stack)) {
		seen[stack.number] = true;
		want_frame(n, stack_table_frame(n->in->stacks, stack));
	}
}

static void want_table(struct naming *n, bool *seen, const struct table_kind *kind)
{
	const struct result_table *table = result_tables_find(n->in->tables, kind);

	for (uint32_t c = 0; table && c < kind->column_count; c++)
		for (uint32_t i = 0; kind->columns[c].cell == CELL_STACK && i < table->count; i++)
			want_stack(n, seen,
				   (struct stack_id){(uint32_t)table_cell(
					   &kind->columns[c], result_table_row(table, kind, i))});
}

/*
 * Looks up the names of all code in stacks of rows, records and tables, file by file. So symbol
 * tables of only one file are in memory at a time.
 */
static void find_names(struct naming *n)
{
	uint32_t row_count, stack_count = stack_table_count(n->in->stacks);
	const struct profile_row *rows = profile_rows(n->in->profile, &row_count);
	bool *seen = calloc(stack_count + 1, 1);

	n->failed |= !seen;
	for (uint32_t i = 0; i < row_count && seen; i++)
		if (rows[i].count || rows[i].ns)
			want_stack(n, seen, rows[i].stack);
	for (uint32_t i = 0; i < stack_count && seen && n->in->timeline; i++)
		if (timeline_kinds_with_stack(n->in->timeline, (struct stack_id){i}))
			want_stack(n, seen, (struct stack_id){i});
	for (uint32_t i = 0; i < table_kind_count && seen; i++)
		want_table(n, seen, table_kinds[i]);
	free(seen);
	debuginfod_allow(n->options->debuginfod ? DEBUGINFOD_RUN_MS : 0);
	symbolizer_name_wanted(n->in->symbolizer, naming_reads_dwarf(n));
}

static struct unnamed count_unnamed(const struct symbolizer *symbolizer)
{
	struct symbolizer_stats stats = symbolizer_stats(symbolizer);

	return (struct unnamed){.unreadable = stats.unreadable,
				.unreadable_path = stats.unreadable_path,
				.refused = stats.refused,
				.refused_frames = stats.refused_frames,
				.stuck = stats.stuck,
				.mangled = stats.mangled,
				.not_asked = debuginfod_not_asked(),
				.unread = stats.unread,
				.unread_kind = stats.unread_kind,
				.unread_path = stats.unread_path};
}

/*
 * Grows `count` elements to `room`; `table` is the address of their pointer. Returns false if out
 * of memory.
 */
static bool grow(void *table, uint32_t count, uint32_t room, size_t size, int fill)
{
	char *old, *grown;

	memcpy(&old, table, sizeof(old));
	grown = realloc(old, room * size);
	if (!grown)
		return false;
	memset(grown + count * size, fill, (room - count) * size);
	memcpy(table, &grown, sizeof(grown));
	return true;
}

/* Returns exactly `count` at first, as at the end of a run; then half more, for a run that goes on.
 */
static uint32_t room_for(uint32_t count, uint32_t before)
{
	return before ? count + count / 2 : count;
}

/* Makes room for names of all that is collected so far. Returns false if out of memory. */
static bool make_room_for_names(struct naming *n)
{
	uint32_t frames = stack_table_frame_count(n->in->stacks) + 1;
	uint32_t stacks = stack_table_count(n->in->stacks) + 1;

	if (frames > n->named_frames) {
		frames = room_for(frames, n->named_frames);
		if (!grow(&n->names, n->named_frames, frames, sizeof(*n->names), 0))
			return false;
		n->named_frames = frames;
	}
	if (stacks > n->named_stacks) {
		stacks = room_for(stacks, n->named_stacks);
		if (!grow(&n->whole, n->named_stacks, stacks, sizeof(*n->whole), NONE_BYTE) ||
		    !grow(&n->launched, n->named_stacks, stacks, sizeof(*n->launched), NONE_BYTE))
			return false;
		n->named_stacks = stacks;
	}
	return true;
}

static bool allocate_names(struct naming *n)
{
	return make_room_for_names(n) && named_stacks_begin(&n->stacks);
}

/* Frees memory that only naming needs. Records of a timeline need the stacks' names. */
static void drop_memory_of_naming(struct naming *n)
{
	free(n->names);
	free(n->list);
	free(n->path);
	if (!n->in->timeline) {
		free(n->whole);
		free(n->launched);
		n->whole = n->launched = NULL;
	}
	named_stacks_finish(&n->stacks);
	n->names = NULL;
	n->list = n->path = NULL;
}

/* Refers the result to its parts, which may have moved. */
static void refer(struct naming *n)
{
	const struct collected *in = n->in;

	n->result.frames = n->stacks.frames.list;
	n->result.frame_count = n->stacks.frames.count;
	n->result.stacks = n->stacks.list;
	n->result.stack_count = n->stacks.count;
	n->result.places = in->places->list;
	n->result.place_count = in->places->count;
	n->result.processes = in->place_names->processes;
	n->result.process_count = in->place_names->process_count;
	n->result.threads = in->place_names->threads;
	n->result.thread_count = in->place_names->thread_count;
	n->result.devices = in->devices->list;
	n->result.device_count = in->devices->count;
	n->result.place_names = in->place_names;
	n->result.device_names = in->devices;
	n->result.timeline = in->timeline;
	n->result.rows = n->rows;
}

static struct naming *new_naming(const struct collected *collected,
				 const struct naming_options *options, const struct totals *totals)
{
	struct naming *n = calloc(1, sizeof(*n));

	if (!n)
		return NULL;
	n->in = collected;
	n->options = options;
	n->memory = (struct quota){.limit = SIZE_MAX, .outer = collected->memory};
	n->result.totals = *totals;
	return n;
}

struct result *result_new(const struct collected *collected, const struct naming_options *options,
			  const struct totals *totals)
{
	struct naming *n = new_naming(collected, options, totals);
	uint32_t rows;

	if (!n)
		return NULL;
	profile_rows(collected->profile, &rows);
	n->rows = calloc(rows + 1, sizeof(*n->rows));
	n->failed = !n->rows || !allocate_names(n);
	if (!n->failed)
		find_names(n);
	if (!n->failed)
		name_rows(n);
	refer(n);
	if (!n->failed && options->links)
		n->result.totals.links = n->links = path_links_find(&n->result, getenv("PATH"));
	if (!n->failed && totals->measure.wall)
		fold_idle_threads(n);
	if (!n->failed && n->in->counters)
		name_counters(n);
	result_tables_begin(&n->tables, &totals->measure);
	if (!n->failed)
		name_tables(n);
	refer(n);
	if (!n->failed && options->definitions)
		naming_find_definitions(n);
	name_records(n);
	drop_memory_of_naming(n);
	refer(n);
	n->result.sample_stacks = n->whole;
	n->result.call_stacks = n->launched;
	n->result.record_stack_count = stack_table_count(collected->stacks);
	n->result.unnamed = count_unnamed(collected->symbolizer);
	n->result.unnamed.not_kept = n->memory.refused;
	if (!options->inlines) /* the report warns about these files only for inlined functions */
		n->result.unnamed.unread = 0;
	if (collected->counters && totals->measure.counters) {
		n->result.counters = &n->counters;
		n->result.counters_result = &n->result;
	}
	n->result.tables = &n->tables;
	n->result.whole = &n->result;
	if (!n->failed)
		return &n->result;
	result_free(&n->result);
	return NULL;
}

struct result *result_begin(const struct collected *collected, const struct naming_options *options,
			    const struct totals *totals)
{
	struct naming *n = new_naming(collected, options, totals);

	if (!n)
		return NULL;
	if (!allocate_names(n)) {
		result_free(&n->result);
		return NULL;
	}
	refer(n);
	return &n->result;
}

bool result_name(struct result *result, struct stack_id collected, uint32_t *stack)
{
	struct naming *n = (struct naming *)result;

	n->failed = !make_room_for_names(n);
	if (n->failed)
		return false;
	*stack = name_launched(n, collected);
	n->failed |= n->stacks.failed;
	refer(n);
	return !n->failed;
}

void result_refresh(struct result *result)
{
	refer((struct naming *)result);
}

void result_free(struct result *result)
{
	struct naming *n = (struct naming *)result;

	if (!n)
		return;
	free(n->names);
	free(n->list);
	free(n->path);
	counters_release(&n->counters);
	result_tables_release(&n->tables);
	named_stacks_release(&n->stacks);
	free(n->rows);
	free(n->whole);
	free(n->launched);
	intern_release(&n->strings);
	free(n->links);
	quota_return(&n->memory, n->memory.used);
	free(n);
}
