// SPDX-License-Identifier: MIT
#include "profiler/cpu/stack_builder.h"

#include <stdio.h>
#include <string.h>
#include "cupti_trace/wire/gpu_wire.h"
#include "profiler/model/pseudo_frames.h"
#include "symbolize/util/text.h"

#define UNKNOWN_RANGE PSEUDO_RANGE "[unknown]"
#define TRACING_MAX 16u /* frames */
#define MERGED_MAX (STACK_BUILDER_UNWOUND + STACK_PYTHON_MAX_LINKS)

/* A stack being built, innermost frame first. */
struct frames {
	struct frame list[STACK_EVENT_MAX_FRAMES + MERGED_MAX + 2];
	uint32_t count;
};

static struct frame *add(struct frames *f, enum frame_kind kind)
{
	struct frame *frame = &f->list[f->count++];

	memset(frame, 0, sizeof(*frame)); /* frames are compared as bytes */
	frame->kind = kind;
	return frame;
}

static void add_code(struct frames *f, struct code_ref code, bool is_return)
{
	add(f, is_return ? FRAME_RETURN : FRAME_CODE)->code = code;
}

static void add_text(struct frames *f, enum frame_kind kind, const char *text)
{
	add(f, kind)->text = text;
}

/* Replaces the innermost frame by the function's own name. */
static void name_innermost(struct frames *f, const char *api)
{
	uint32_t count = f->count ? f->count : 1;

	f->count = 0;
	add_text(f, FRAME_API, api);
	f->count = count;
}

static void count_unordered(struct stack_builder *b, const struct process *process)
{
	struct ledger_python *l = &b->ledger->python;
	const char *path = pythons_path(b->pythons, process->python);

	if (l->unordered++ == 0 && path) {
		snprintf(l->first_file, sizeof(l->first_file), "%s", path);
		clean_text(l->first_file);
	}
}

/* Counts what is missing of the stack's Python frames. Returns true if nothing is. */
static bool count_python(struct stack_builder *b, const struct process *process,
			 const struct python_merge_result *python)
{
	b->ledger->python.missing += python->is_missing;
	b->ledger->python.unread += python->is_missing && b->reads_no_python;
	if (!python->is_ordered)
		count_unordered(b, process);
	return python->is_whole && python->is_ordered && !python->is_missing;
}

static struct stack_id finish(struct stack_builder *b, struct stack_id outer,
			      const struct frames *f, bool has_root)
{
	if (!has_root) {
		b->ledger->bounds.truncated++;
		outer = stack_table_push_text(b->stacks, outer, FRAME_MARK, PSEUDO_TRUNCATED);
	}
	return stack_table_add(b->stacks, outer, f->list, f->count);
}

const char *stack_builder_text(struct stack_builder *b, const char *text)
{
	return quota_intern(b->quota, b->strings, text);
}

/* ---- the library in the program ---- */

bool stack_builder_is_library(const struct stack_builder *b, const char *name)
{
	size_t length = b->library ? strlen(b->library) : 0;

	/* injected into attached processes; or a copy for programs that run without a profiler */
	if (starts_with(name, "memfd:" GPU_WIRE_MEMORY) || starts_with(name, "libprofile_cupti"))
		return true;
	return length && strncmp(name, b->library, length) == 0 &&
	       (!name[length] || strcmp(name + length, " (deleted)") == 0);
}

static bool is_of_library(struct stack_builder *b, const struct frame *frame)
{
	uint32_t module = frame->code.module;
	struct stack_builder_module *known = &b->modules[module % STACK_BUILDER_MODULES];
	const char *path;

	if ((frame->kind != FRAME_CODE && frame->kind != FRAME_RETURN) || module <= MODULE_JIT)
		return false;
	if (!known->is_known || known->module != module) {
		path = symbolizer_module_path(b->symbolizer, module);
		*known = (struct stack_builder_module){
			module, true, path && stack_builder_is_library(b, base_name(path))};
	}
	return known->is_library;
}

/*
 * Returns the frame that a signal interrupted, searching inwards from `outer`. Returns `inner` if
 * there is none.
 */
static uint32_t find_interrupted(const struct frames *f, uint32_t outer, uint32_t inner)
{
	for (uint32_t i = outer; i > inner; i--)
		if (f->list[i].kind == FRAME_CODE)
			return i;
	return inner;
}

/*
 * Replaces frames of the library, and all frames it called, by one. The first `kernel` frames are
 * the kernel's. The next frame is exact, though not interrupted.
 */
static void fold_library(struct stack_builder *b, struct frames *f, uint32_t kernel)
{
	uint32_t end = f->count;

	while (end-- > 0) {
		uint32_t inner;

		if (!is_of_library(b, &f->list[end]))
			continue;
		inner = find_interrupted(f, end, kernel);
		inner = inner > kernel ? inner : 0;
		memset(&f->list[inner], 0, sizeof(f->list[inner]));
		f->list[inner].kind = FRAME_MARK;
		f->list[inner].text = PSEUDO_LIBRARY;
		memmove(&f->list[inner + 1], &f->list[end + 1],
			(f->count - end - 1) * sizeof(*f->list));
		f->count -= end - inner;
		end = inner;
	}
}

/* ---- snapshots ---- */

static void add_kernel(struct stack_builder *b, struct frames *f, const __u64 *addresses,
		       uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		add_code(f, symbolizer_locate_kernel(b->symbolizer, addresses[i]), i > 0);
}

/* Returns the number of tracing frames at a context switch, inside the scheduler's own. */
static uint32_t count_tracing(struct stack_builder *b, const struct stack_snapshot *snapshot)
{
	const __u64 *kernel = stack_snapshot_kernel(snapshot);
	uint32_t count = snapshot->event.kernel_frames;

	if (snapshot->event.kind != STACK_EVENT_OFF_CPU)
		return 0;
	for (uint32_t i = 0; i < count && i < TRACING_MAX; i++) {
		struct code_ref code = symbolizer_locate_kernel(b->symbolizer, kernel[i]);

		if (strcmp(symbolizer_name(b->symbolizer, code, i > 0), "__schedule") == 0)
			return i;
	}
	return 0;
}

/*
 * Returns true if the thread is at a probe's breakpoint. The pc is past the breakpoint, though the
 * replaced instruction has not run. So call frame information must be looked up for that
 * instruction.
 */
static bool is_at_breakpoint(struct stack_builder *b, const struct stack_snapshot *snapshot)
{
	uint32_t count = snapshot->event.kernel_frames;
	struct code_ref outermost;

	if (!b->has_breakpoints || count == 0)
		return false;
	outermost =
		symbolizer_locate_kernel(b->symbolizer, stack_snapshot_kernel(snapshot)[count - 1]);
	return strcmp(symbolizer_name(b->symbolizer, outermost, count > 1), "asm_exc_int3") == 0;
}

static void unwind(struct stack_builder *b, struct process *process,
		   const struct stack_snapshot *snapshot)
{
	struct unwind_input input = {.stack = stack_snapshot_stack(snapshot),
				     .stack_size = snapshot->stack_bytes,
				     .has_base = snapshot->stack_bytes == snapshot->stack_above};

	if (snapshot->interrupted_bytes)
		input.interrupted = (struct unwind_interrupted){
			.start = snapshot->interrupted_start,
			.stack = stack_snapshot_interrupted(snapshot),
			.stack_size = snapshot->interrupted_bytes,
			.has_base = snapshot->interrupted_bytes == snapshot->interrupted_above};

	_Static_assert(STACK_SNAPSHOT_REGISTERS == CFI_REGISTERS, "both are DWARF's");
	for (int i = 0; i < CFI_REGISTERS; i++)
		input.registers.value[i] = snapshot->registers[i];
	input.registers.value[CFI_PC] -= is_at_breakpoint(b, snapshot);
	input.registers.known = (1u << CFI_REGISTERS) - 1;
	b->unwound_count =
		(uint32_t)symbolizer_unwind(b->symbolizer, process->space, &input, b->unwound,
					    STACK_BUILDER_UNWOUND, &b->unwound_end);
}

static void count_end(struct stack_builder *b)
{
	b->ledger->unwound.ends[b->unwound_end]++;
	if (cut_stacks_reason(b->unwound_end))
		cut_stacks_add(b->cut, b->unwound_end,
			       b->unwound_count ? b->unwound[b->unwound_count - 1].code.module
						: MODULE_UNKNOWN);
}

/* Returns true if the stack reaches the thread's start, maybe by a guess. */
static bool reaches_start(const struct stack_builder *b)
{
	return !cut_stacks_reason(b->unwound_end);
}

static void add_python(struct frames *f, const struct python_title *title)
{
	struct frame *frame = add(f, FRAME_PYTHON);

	frame->text = title->name;
	frame->file = title->file;
	frame->line = title->line;
}

static void add_user(struct stack_builder *b, struct frames *f, struct process *process,
		     const struct stack_snapshot *snapshot, struct python_merge_result *result)
{
	struct python_sample_frame merged[MERGED_MAX];
	uint32_t count =
		pythons_merge(b->pythons, process->space, process->python, snapshot, b->unwound,
			      b->unwound_count, reaches_start(b), merged, MERGED_MAX, result);

	for (uint32_t i = 0; i < count; i++) {
		const struct unwind_frame *native = &b->unwound[merged[i].index];

		if (merged[i].title.name)
			add_python(f, &merged[i].title);
		else
			add_code(f, native->code, native->is_return_address);
	}
	for (uint32_t i = 0; i < b->unwound_count && count == 0; i++)
		add_code(f, b->unwound[i].code, b->unwound[i].is_return_address);
}

/* Pushes the name of a process whose thread has no stack of its own. */
static struct stack_id push_program(struct stack_builder *b, const struct process *process)
{
	return stack_table_push_text(b->stacks, STACK_EMPTY, FRAME_MARK,
				     process->comm ? process->comm : PSEUDO_NO_PROGRAM);
}

struct stack_id stack_builder_snapshot(struct stack_builder *b, struct process *process,
				       const struct stack_snapshot *snapshot, const char *api,
				       bool *is_whole)
{
	bool is_hidden = (snapshot->event.flags & STACK_EVENT_NO_ACCESS) != 0;
	bool is_gone = is_hidden || (snapshot->event.flags & STACK_EVENT_NO_MEMORY) != 0;
	bool is_in_exec = (snapshot->event.flags & STACK_EVENT_IN_EXEC) != 0;
	uint32_t tracing = count_tracing(b, snapshot);
	struct python_merge_result python;
	struct frames f;

	f.count = 0;
	add_kernel(b, &f, stack_snapshot_kernel(snapshot) + tracing,
		   snapshot->event.kernel_frames - tracing);
	symbolizer_set_time(b->symbolizer, snapshot->event.time_ns);
	if (!is_gone)
		unwind(b, process, snapshot);
	if (is_gone || (is_in_exec && !reaches_start(b))) {
		b->unwound_count = 0;
		b->unwound_end = UNWIND_WHOLE;
		count_end(b);
		*is_whole = true;
		if (is_hidden && api)
			add_text(&f, FRAME_API, api);
		if (is_hidden)
			add_text(&f, FRAME_MARK, PSEUDO_NO_ACCESS);
		return stack_table_add(b->stacks, push_program(b, process), f.list, f.count);
	}
	count_end(b);
	add_user(b, &f, process, snapshot, &python);
	fold_library(b, &f, snapshot->event.kernel_frames - tracing);
	if (api)
		name_innermost(&f, api);
	*is_whole = count_python(b, process, &python) && b->unwound_end == UNWIND_WHOLE;
	return finish(b, STACK_EMPTY, &f, reaches_start(b) && python.is_whole);
}

static bool is_c_library(const char *path)
{
	const char *name = base_name(path);

	return starts_with(name, "libc.") || starts_with(name, "libc-") ||
	       starts_with(name, "libpthread") || starts_with(name, "ld-");
}

const char *stack_builder_start_module(const struct stack_builder *b)
{
	if (b->unwound_end != UNWIND_WHOLE)
		return NULL;
	for (uint32_t i = b->unwound_count; i-- > 0;) {
		const char *path = symbolizer_module_path(b->symbolizer, b->unwound[i].code.module);

		if (!path || !is_c_library(path))
			return path;
	}
	return NULL;
}

struct stack_id stack_builder_creator(struct stack_builder *b, struct process *process,
				      const struct stack_snapshot *snapshot)
{
	struct python_merge_result python;
	struct frames f;

	f.count = 0;
	unwind(b, process, snapshot);
	count_end(b);
	add_user(b, &f, process, snapshot, &python);
	count_python(b, process, &python);
	return finish(b, STACK_EMPTY, &f, reaches_start(b) && python.is_whole);
}

struct stack_id stack_builder_addresses(struct stack_builder *b, struct process *process,
					const struct stack_event *event, const __u64 *addresses,
					const char *api)
{
	struct frames f;

	f.count = 0;
	if (!api)
		add_kernel(b, &f, addresses + event->user_frames, event->kernel_frames);
	symbolizer_set_time(b->symbolizer, event->time_ns);
	for (uint32_t i = 0; i < event->user_frames && i < STACK_BUILDER_UNWOUND; i++)
		add_code(&f, symbolizer_locate(b->symbolizer, process->space, addresses[i]), i > 0);
	fold_library(b, &f, api ? 0 : event->kernel_frames);
	if (api)
		name_innermost(&f, api);
	return finish(b, STACK_EMPTY, &f, !(event->flags & STACK_EVENT_TRUNCATED));
}

/* ---- stacks captured in processes ---- */

static struct code_ref locate_captured(struct stack_builder *b, struct process *process,
				       uint64_t address)
{
	/* the process's own report is correct even if it runs another program by now */
	const struct code_mapping *mapping = target_stacks_find_code(&process->sent, address);

	return mapping ? symbolizer_locate_in(b->symbolizer, process->space, mapping, address)
		       : (struct code_ref){.module = MODULE_UNKNOWN};
}

static void add_captured(struct stack_builder *b, struct frames *f, struct process *process,
			 const struct gpu_event_frame *frame)
{
	const struct target_python *python;
	struct python_title title = {.name = PYTHON_UNKNOWN_FRAME};
	const char *range;

	switch (frame->kind) {
	case GPU_FRAME_PYTHON:
		python = target_stacks_get_python(&process->sent, (uint32_t)frame->value);
		if (python)
			title = (struct python_title){python->name, python->file, frame->line};
		add_python(f, &title);
		break;
	case GPU_FRAME_NVTX:
		range = target_stacks_get_nvtx(&process->sent, (uint32_t)frame->value);
		add_text(f, FRAME_NVTX, range ? range : UNKNOWN_RANGE);
		break;
	default:
		add_code(f, locate_captured(b, process, frame->value), true);
	}
}

struct stack_id stack_builder_captured(struct stack_builder *b, struct process *process,
				       struct stack_id outer, const struct gpu_event_stack *stack)
{
	const char *function = stack->function[0] ? stack_builder_text(b, stack->function) : NULL;
	struct frames f;

	f.count = 0;
	symbolizer_set_time(b->symbolizer, 0);
	if (function)
		add_text(&f, FRAME_API, function);
	for (uint32_t i = 0; i < stack->count; i++)
		add_captured(b, &f, process, &stack->frames[i]);
	if (stack->is_unordered)
		count_unordered(b, process);
	return finish(b, outer, &f, stack->is_whole);
}

struct stack_id stack_builder_handed(struct stack_builder *b, struct stack_id outer,
				     const char *name)
{
	const char *mark;
	char text[128];

	snprintf(text, sizeof(text), PSEUDO_HANDED_TO, name);
	mark = stack_builder_text(b, text);
	return mark ? stack_table_push_text(b->stacks, outer, FRAME_MARK, mark) : outer;
}
