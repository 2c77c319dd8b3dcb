// SPDX-License-Identifier: MIT
#include "profiler/shape/result_naming_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/model/work_names.h"
#include "profiler/shape/compile_marks.h"
#include "profiler/shape/short_name.h"
#include "symbolize/demangle.h"
#include "symbolize/util/array.h"
#include "symbolize/util/text.h"

#define FRAME_BYTES (sizeof(struct frame_info) + HASH_INDEX_ENTRY_BYTES + 4)

const char *naming_keep(struct naming *n, char *text, const char *otherwise)
{
	const char *kept = NULL;

	if (text && !quota_has(&n->memory, strlen(text) + INTERN_ENTRY_BYTES)) {
		n->memory.refused++;
		kept = otherwise;
	} else if (text) {
		kept = quota_intern(&n->memory, &n->strings, text);
	}
	free(text);
	return kept;
}

/* Returns "model.py" for "/app/model.py". Returns "torch/__init__.py", which tells the package. */
static const char *shown_file(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (slash && slash > path && starts_with(slash, "/__"))
		for (slash--; slash > path && *slash != '/'; slash--)
			;
	return slash ? slash + (*slash == '/') : path;
}

/*
 * Returns "forward"; for a module's code, its file. Returns NULL, to keep the full name, for other
 * names in angle brackets, such as lambdas: without the file they tell nothing.
 */
static char *short_python(const struct frame_info *frame)
{
	const char *end = frame->file ? strstr(frame->name, " (") : NULL;

	if (!end || end == frame->name)
		return NULL;
	if (frame->name[0] != '<')
		return strndup(frame->name, (size_t)(end - frame->name));
	if (starts_with(frame->name, "<module> (") && frame->file[0] != '<')
		return strdup(shown_file(frame->file));
	return NULL;
}

/* Returns the short name, for pictures. Their colours tell what "[GPU_Kernel]" tells. */
static const char *shorten(struct naming *n, const struct frame_info *frame)
{
	const char *prefix = frame->class == CLASS_GPU_KERNEL ? work_frame(GPU_WORK_KERNEL)
			     : frame->class == CLASS_CALL     ? PSEUDO_CALL
							      : "";
	const char *name = frame->name + strlen(prefix);
	char *text = NULL;

	switch (frame->class) {
	case CLASS_NATIVE:
	case CLASS_JIT:
	case CLASS_GPU_KERNEL:
	case CLASS_CALL:
		text = short_name(name, frame->class == CLASS_GPU_KERNEL);
		break;
	case CLASS_GPU_CODE:
		text = frame->file ? NULL : short_name(name, true);
		break;
	case CLASS_PYTHON:
		text = short_python(frame);
		break;
	default:
		break;
	}
	/* "[GPU_Kernel]" alone: the kernel's name is lost */
	return text ? naming_keep(n, text, frame->name) : *name ? name : frame->name;
}

uint32_t naming_add_frame(struct naming *n, const struct frame_info *frame)
{
	struct frame_info named = *frame;
	uint32_t at;

	if (frame->name)
		frame_info_pseudo(&named);
	at = named_stacks_find_frame(&n->stacks, &named);
	if (at != RECORD_NONE)
		return at;
	named.short_name = frame->name ? shorten(n, frame) : NULL;
	if (named.short_name)
		return named_stacks_add_frame(&n->stacks, &named);
	n->failed = true;
	return 0;
}

/* Adds a named frame to those of a collected frame. */
static void add_name(struct naming *n, struct names *names, const struct frame_info *frame)
{
	uint32_t number = naming_add_frame(n, frame);

	if (!array_make_room(&n->list, n->list_count, &n->list_capacity, sizeof(*n->list))) {
		n->failed = true;
		return;
	}
	if (names->count++ == 0)
		names->first = n->list_count;
	n->list[n->list_count++] = number;
}

bool naming_reads_dwarf(const struct naming *n)
{
	return n->options->inlines || n->options->sources;
}

static void name_code(struct naming *n, struct names *names, const struct frame *frame)
{
	bool is_return = frame->kind == FRAME_RETURN;
	struct frame_info info = {.class = frame->code.module == MODULE_KERNEL ? CLASS_KERNEL_MODE
					   : frame->code.module == MODULE_JIT  ? CLASS_JIT
									       : CLASS_NATIVE};
	const char *single;
	const char *const *found = &single, *const *sources = NULL;
	uint32_t count = 1;

	if (naming_reads_dwarf(n)) {
		count = symbolizer_names(n->in->symbolizer, frame->code, is_return, &found);
		sources = symbolizer_sources(n->in->symbolizer);
	} else {
		single = symbolizer_name(n->in->symbolizer, frame->code, is_return);
	}
	if (!n->options->inlines)
		count = 1;
	if (frame->code.module > MODULE_JIT) {
		info.module = symbolizer_module_path(n->in->symbolizer, frame->code.module);
		info.build_id = symbolizer_build_id(n->in->symbolizer, frame->code.module);
		info.offset = frame->code.offset;
	}
	for (uint32_t i = 0; i < count; i++) {
		if (i > 0 && !quota_take(&n->memory, FRAME_BYTES))
			return;
		info.name = found[i];
		info.source = sources ? sources[i] : NULL;
		add_name(n, names, &info);
	}
}

/* Returns "forward (model.py:42)". */
static const char *python_text(struct naming *n, const struct frame *frame)
{
	const char *file = frame->file ? shown_file(frame->file) : NULL;
	char *text = NULL;
	int written;

	if (!file)
		return frame->text;
	written = frame->line ? asprintf(&text, "%s (%s:%u)", frame->text, file, frame->line)
			      : asprintf(&text, "%s (%s)", frame->text, file);
	return written < 0 ? NULL : naming_keep(n, text, frame->text);
}

const char *naming_kernel_text(struct naming *n, const char *mangled)
{
	char *name = n->options->raw_names ? strdup(mangled)
					   : demangle(symbolizer_demangler(n->in->symbolizer),
						      mangled, DEMANGLE_SIGNATURE);
	char *text = NULL;

	if (!name || asprintf(&text, "%s%s", work_frame(GPU_WORK_KERNEL), name) < 0)
		text = NULL;
	free(name);
	return naming_keep(n, text, work_frame(GPU_WORK_KERNEL));
}

/* Returns "[CUDA call, wall time]softmax", with the kernel's host function if it is known. */
static const char *call_text(struct naming *n, struct code_ref code)
{
	const char *kernel = "";
	char *text = NULL;

	if (code.module > MODULE_JIT)
		kernel = symbolizer_name(n->in->symbolizer, code, false);
	/* "[libfoo.so]" is no function */
	if (asprintf(&text, "%s%s", PSEUDO_CALL, kernel[0] == '[' ? "" : kernel) < 0)
		text = NULL;
	return naming_keep(n, text, PSEUDO_CALL);
}

static const char *device_function_text(struct naming *n, const char *mangled)
{
	if (n->options->raw_names)
		return mangled;
	return naming_keep(
		n, demangle(symbolizer_demangler(n->in->symbolizer), mangled, DEMANGLE_SIGNATURE),
		mangled);
}

/* Returns "softmax.cu:12". */
static const char *line_text(struct naming *n, const struct frame *frame)
{
	char *text = NULL;

	if (asprintf(&text, "%s:%u", shown_file(frame->file), frame->line) < 0)
		return NULL;
	return naming_keep(n, text, frame->text);
}

/* Returns the class of a frame that names a part of the program. */
static enum frame_class class_of_range(const char *text)
{
	return starts_with(text, PSEUDO_OPERATOR) ? CLASS_OPERATOR
	       : starts_with(text, PSEUDO_LAYER)  ? CLASS_LAYER
						  : CLASS_NVTX;
}

/* Adds the mark that is around a function, unless it is NULL. */
static void add_mark(struct naming *n, struct names *names, const char *mark)
{
	if (mark)
		add_name(n, names, &(struct frame_info){.class = CLASS_PHASE, .name = mark});
}

static void name_text(struct naming *n, struct names *names, const struct frame *frame)
{
	static const enum frame_class classes[] = {
		[FRAME_API] = CLASS_API,           [FRAME_PYTHON] = CLASS_PYTHON,
		[FRAME_NVTX] = CLASS_NVTX,         [FRAME_MARK] = CLASS_MARK,
		[FRAME_WAIT] = CLASS_WAIT,         [FRAME_SPIN] = CLASS_MARK,
		[FRAME_IDLE] = CLASS_IDLE,         [FRAME_GPU_KERNEL] = CLASS_GPU_KERNEL,
		[FRAME_GPU_WORK] = CLASS_GPU_WORK, [FRAME_GPU_FUNCTION] = CLASS_GPU_CODE,
		[FRAME_GPU_LINE] = CLASS_GPU_CODE, [FRAME_STALL] = CLASS_STALL,
		[FRAME_CALL] = CLASS_CALL,
	};
	struct frame_info info = {.class = classes[frame->kind], .name = frame->text};

	switch (frame->kind) {
	case FRAME_PYTHON:
		add_mark(n, names, compile_mark_of(frame->text, frame->file));
		info.name = python_text(n, frame);
		break;
	case FRAME_GPU_KERNEL:
		info.name = naming_kernel_text(n, frame->text);
		break;
	case FRAME_CALL:
		info.name = call_text(n, frame->code);
		break;
	case FRAME_GPU_FUNCTION:
		info.name = device_function_text(n, frame->text);
		break;
	case FRAME_GPU_LINE:
		info.name = line_text(n, frame);
		break;
	case FRAME_NVTX:
		info.class = class_of_range(frame->text);
		break;
	default:
		break;
	}
	if (frame->kind == FRAME_PYTHON || frame->kind == FRAME_GPU_LINE) {
		info.file = frame->file;
		info.line = frame->line;
	}
	add_name(n, names, &info);
}

bool naming_is_code(const struct frame *frame)
{
	return frame->kind == FRAME_CODE || frame->kind == FRAME_RETURN;
}

const struct names *naming_names_of(struct naming *n, struct stack_id stack)
{
	struct names *names = &n->names[stack_table_frame_number(n->in->stacks, stack)];
	const struct frame *frame = stack_table_frame(n->in->stacks, stack);

	if (names->count == 0) {
		if (naming_is_code(frame))
			name_code(n, names, frame);
		else
			name_text(n, names, frame);
	}
	return names;
}
