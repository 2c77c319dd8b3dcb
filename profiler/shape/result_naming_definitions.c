// SPDX-License-Identifier: MIT
/* Finds where Triton's kernels are defined (kernel_source.h), once stacks have their names. */
#include "profiler/shape/result_naming_private.h"

#include <stdlib.h>
#include <string.h>
#include "profiler/model/kernel_definitions.h"
#include "profiler/model/work_names.h"
#include "profiler/shape/kernel_source.h"
#include "profiler/shape/source_file.h"
#include "symbolize/util/array.h"
#include "symbolize/util/sorted.h"
#include "symbolize/util/text.h"

#define FILE_BYTES (UINT64_C(8) << 20)
#define ALL_BYTES (UINT64_C(64) << 20) /* bytes of all files */
#define ALL_KERNELS 65536u
#define FILES_MAX 2048u
#define STACK_FILES_MAX 16u /* innermost ones of a stack */
#define READING_MS 3000u    /* for all files */

static const char none[] = "";

/* A Python file of a stack, and the kernels that it defines. */
struct python_file {
	const char *path; /* as in frames: equal paths are one pointer */
	enum source_state state;
	struct kernel_sources kernels;
};

/* Work of a kernel under one stack. */
struct launched {
	uint32_t stack; /* its innermost frame is the kernel's */
	uint64_t ns, calls;
};

struct finding {
	struct naming *naming;
	const struct result *result;
	struct python_file *files;
	uint32_t file_count, file_capacity;
	struct bounded_caller *calls;
	uint32_t *by_frame; /* number of the frame's file plus 1; 0: not known yet */
	uint64_t bytes, kernels;
};

/* ---- files ---- */

static bool read_python(struct finding *f, struct python_file *file)
{
	struct source_content content;
	bool is_read;

	file->state = SOURCE_LEFT_OUT;
	if (f->file_count >= FILES_MAX || f->bytes >= ALL_BYTES || f->kernels >= ALL_KERNELS)
		return true;
	if (source_file_read(f->calls, f->result->totals.folder, file->path, FILE_BYTES,
			     &content) != 0)
		return false;
	f->bytes += content.size;
	file->state = content.state;
	is_read = content.state != SOURCE_READ ||
		  kernel_sources_find(&file->kernels, content.text, content.size) == 0;
	free(content.text);
	f->kernels += file->kernels.count;
	return is_read;
}

/* Returns the number of a file. Those beyond FILES_MAX share the number of one that is left out. */
static uint32_t file_number(struct finding *f, const char *path)
{
	for (uint32_t i = f->file_count; i-- > 0;)
		if (f->files[i].path == path)
			return i;
	if (f->file_count > FILES_MAX)
		return FILES_MAX; /* for all others */
	if (!array_make_room(&f->files, f->file_count, &f->file_capacity, sizeof(*f->files))) {
		f->naming->failed = true;
		return 0;
	}
	f->files[f->file_count] = (struct python_file){.path = path};
	f->naming->failed |= !read_python(f, &f->files[f->file_count]);
	return f->file_count++;
}

/* Returns the file of a frame, which is read when it is met first. Returns NULL if out of memory.
 */
static const struct python_file *file_of(struct finding *f, uint32_t frame)
{
	if (!f->by_frame[frame])
		f->by_frame[frame] = file_number(f, f->result->frames[frame].file) + 1;
	return f->naming->failed ? NULL : &f->files[f->by_frame[frame] - 1];
}

/* ---- a kernel ---- */

/* Returns true for files of Triton and of TorchInductor's runtime, which launch kernels. */
static bool launches_for_triton(const char *path)
{
	static const char *const parts[] = {"/triton/runtime/", "/triton/compiler/",
					    "/triton/backends/", "/torch/_inductor/"};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (strstr(path, parts[i]))
			return true;
	return false;
}

/*
 * Lists frames of the innermost Python files of a stack. Returns 0 unless Triton launched the work.
 */
static uint32_t list_files(const struct finding *f, uint32_t stack,
			   uint32_t frames[STACK_FILES_MAX])
{
	const struct result *r = f->result;
	const char *last = NULL;
	bool is_triton = false;
	uint32_t count = 0;

	for (; stack != RESULT_ROOT && count < STACK_FILES_MAX; stack = r->stacks[stack].outer) {
		const struct frame_info *frame = &r->frames[r->stacks[stack].frame];

		if (frame->class != CLASS_PYTHON || !frame->file || frame->file[0] == '<' ||
		    frame->file == last)
			continue;
		last = frame->file;
		frames[count++] = r->stacks[stack].frame;
		is_triton |= launches_for_triton(last);
	}
	return is_triton ? count : 0;
}

/* Tells why no file has the kernel: the reason of the outermost file that was not read. */
static const char *reason(enum source_state state)
{
	static const char *const texts[SOURCE_STATES] = {
		[SOURCE_READ] = "no file of the stack that launched it has it",
		[SOURCE_NOT_FOUND] = "a file of its stack is gone, or may not be read",
		[SOURCE_REFUSED] = "a file of its stack is not read",
		[SOURCE_TOO_LARGE] = "a file of its stack is too large",
		[SOURCE_NOT_TEXT] = "a file of its stack is not text",
		[SOURCE_LEFT_OUT] = "too many files"};

	return texts[state];
}

static const char *keep(struct finding *f, const char *text)
{
	const char *kept = *text ? naming_keep(f->naming, strdup(text), none) : none;

	f->naming->failed |= !kept;
	return kept;
}

static void set_source(struct finding *f, struct kernel_definition *row,
		       const struct kernel_source *source, const char *path)
{
	if (source->count > 1) {
		row->unknown = "its file defines several of this name";
		return;
	}
	row->file = keep(f, source->path ? source->path : path);
	row->line = source->line;
	row->operators = keep(f, source->operators);
	row->nodes = keep(f, source->nodes);
	row->unknown = none;
}

/* Finds the definition in the innermost file that has one. */
static void find_source(struct finding *f, struct kernel_definition *row, const char *name,
			const uint32_t *frames, uint32_t count)
{
	enum source_state state = SOURCE_READ;

	for (uint32_t i = 0; i < count; i++) {
		const struct python_file *file = file_of(f, frames[i]);
		const struct kernel_source *source;

		if (!file)
			return;
		source = kernel_sources_named(&file->kernels, name);
		if (source) {
			set_source(f, row, source, file->path);
			return;
		}
		if (file->state != SOURCE_READ)
			state = file->state;
		else if (file->kernels.is_cut)
			state = SOURCE_TOO_LARGE;
	}
	row->unknown = reason(state);
}

static void add_definition(struct finding *f, const struct launched *launched)
{
	const struct result *r = f->result;
	const struct stack_info *stack = &r->stacks[launched->stack];
	const char *prefix = work_frame(GPU_WORK_KERNEL);
	uint32_t frames[STACK_FILES_MAX], count = list_files(f, stack->outer, frames);
	struct kernel_definition row = {.kernel = r->frames[stack->frame].name,
					.file = none,
					.operators = none,
					.nodes = none,
					.unknown = none,
					.ns = launched->ns,
					.calls = launched->calls};

	if (count == 0 || !starts_with(row.kernel, prefix) || !row.kernel[strlen(prefix)])
		return;
	find_source(f, &row, row.kernel + strlen(prefix), frames, count);
	if (!f->naming->failed && result_tables_add(&f->naming->tables, &kernel_definitions_table,
						    &row, NULL) != TABLE_OK)
		f->naming->memory.refused++;
}

/* ---- all of them ---- */

static int by_time(const void *a, const void *b)
{
	const struct launched *x = a, *y = b;
	int order = compare_numbers(y->ns, x->ns);

	return order ? order : compare_numbers(x->stack, y->stack);
}

/* Sums up the kernels of each stack, the longest time first. Returns their count. */
static uint32_t list_launched(const struct result *r, struct launched *list)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < r->row_count; i++) {
		const struct row *row = &r->rows[i];
		uint32_t stack =
			row->kind == ROW_GPU ? result_work_stack(r, row->stack) : RESULT_ROOT;

		if (stack == RESULT_ROOT ||
		    r->frames[r->stacks[stack].frame].class != CLASS_GPU_KERNEL)
			continue;
		list[stack].ns += row->ns;
		list[stack].calls += row->count;
		list[stack].stack = stack;
	}
	for (uint32_t i = 0; i < r->stack_count; i++)
		if (list[i].stack != RESULT_ROOT)
			list[count++] = list[i];
	if (count)
		qsort(list, count, sizeof(*list), by_time);
	return count;
}

void naming_find_definitions(struct naming *n)
{
	const struct result *r = &n->result;
	struct finding f = {.naming = n,
			    .result = r,
			    .by_frame = calloc(r->frame_count + 1u, sizeof(*f.by_frame)),
			    .calls = bounded_caller_new(READING_MS)};
	struct launched *list = calloc(r->stack_count + 1u, sizeof(*list));
	bool is_ready = f.calls && f.by_frame && list;
	uint32_t count = is_ready ? list_launched(r, list) : 0;

	n->failed |= !is_ready;
	for (uint32_t i = 0; i < count && !n->failed; i++)
		add_definition(&f, &list[i]);
	for (uint32_t i = 0; i < f.file_count; i++)
		kernel_sources_release(&f.files[i].kernels);
	free(f.files);
	free(f.by_frame);
	free(list);
	bounded_caller_free(f.calls);
}
