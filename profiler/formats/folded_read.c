// SPDX-License-Identifier: MIT
#include "profiler/formats/folded_read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/base/cuda_functions.h"
#include "profiler/shape/named_stacks.h"
#include "profiler/shape/short_name.h"
#include "profiler/model/pseudo_frames.h"
#include "profiler/model/memory_use.h"
#include "profiler/model/ranks.h"
#include "profiler/model/work_names.h"
#include "symbolize/place_name.h"
#include "symbolize/util/array.h"
#include "symbolize/util/intern.h"
#include "symbolize/util/text.h"

struct folded_stacks {
	struct result result; /* returned to the caller */
	struct quota memory;
	struct intern names;
	struct named_stacks stacks;
	uint64_t *weights; /* by stack */
	struct row *rows;
	uint32_t weight_capacity, row_capacity;
	uint64_t sum;
	struct ledger ledger;
	struct place_names place_names;
	struct devices device_names;
	struct place nowhere;
	char *line;
	uint32_t line_size, line_used;
	enum folded_error error;
};

static bool fail(struct folded_stacks *f, enum folded_error error)
{
	if (!f->error)
		f->error = error;
	return false;
}

static bool take(struct folded_stacks *f, size_t bytes)
{
	return quota_take(&f->memory, bytes) || fail(f, FOLDED_TOO_LARGE);
}

/* ---- what a frame is ---- */

/* Returns whether a name is that of a Python function: "f (model.py)", "f (model.py:42)". */
static bool is_python(const char *name)
{
	const char *open = strrchr(name, '('), *ending = open ? strstr(open, ".py") : NULL;

	if (!ending || open == name || open[-1] != ' ')
		return false;
	ending += 3;
	if (*ending == ':')
		ending += 1 + strspn(ending + 1, "0123456789");
	return strcmp(ending, ")") == 0;
}

static bool is_gpu_work(const char *name)
{
	for (unsigned int work = 0; work < GPU_WORKS; work++)
		if (work != GPU_WORK_KERNEL && strcmp(name, work_frame(work)) == 0)
			return true;
	for (unsigned int kind = 0; kind < MEMORY_KINDS; kind++)
		if (strcmp(name, work_allocation_frame(kind)) == 0)
			return true;
	return false;
}

static enum frame_class class_of(const char *name)
{
	uint32_t rank;

	if (name[0] == '[') {
		if (starts_with(name, work_frame(GPU_WORK_KERNEL)))
			return CLASS_GPU_KERNEL;
		if (is_gpu_work(name))
			return CLASS_GPU_WORK;
		if (is_wait_mark(name) || ranks_is_wait(name, &rank))
			return CLASS_WAIT;
		if (is_idle_mark(name))
			return CLASS_IDLE;
		if (starts_with(name, PSEUDO_STALL) || strcmp(name, PSEUDO_SELECTED) == 0 ||
		    strcmp(name, PSEUDO_OTHER_STALLS) == 0)
			return CLASS_STALL;
		if (place_name_file(name) > 0)
			return CLASS_NATIVE;
		return starts_with(name, PSEUDO_CALL) ? CLASS_CALL : CLASS_MARK;
	}
	if (strcmp(name, PSEUDO_LAUNCHED) == 0)
		return CLASS_MARK;
	if (cuda_function_of(name) != CUDA_FUNCTION_NONE)
		return CLASS_API;
	return is_python(name) ? CLASS_PYTHON : CLASS_NATIVE;
}

/* ---- tables ---- */

/* Returns the short name of a frame, or NULL if out of memory. */
static const char *shorten(struct folded_stacks *f, const struct frame_info *frame)
{
	const char *prefix = frame->class == CLASS_GPU_KERNEL ? work_frame(GPU_WORK_KERNEL) : "";
	const char *name = frame->name + strlen(prefix), *kept;
	char *text = NULL;

	if (frame->class == CLASS_PYTHON)
		text = strndup(name, (size_t)(strrchr(name, '(') - 1 - name));
	else if (frame->class == CLASS_NATIVE || frame->class == CLASS_GPU_KERNEL)
		text = short_name(name, frame->class == CLASS_GPU_KERNEL);
	if (!text)
		return *name ? name : frame->name;
	kept = intern_string(&f->names, text);
	free(text);
	return kept;
}

/* Returns the number of the frame with this name, or 0 with the error set. */
static uint32_t frame_of(struct folded_stacks *f, const char *text)
{
	uint64_t before = f->names.bytes;
	const char *name = intern_string(&f->names, text);
	struct frame_info frame = {.name = name, .short_name = name};
	uint32_t at;

	if (!name) {
		fail(f, FOLDED_NO_MEMORY);
		return 0;
	}
	at = named_stacks_find_name(&f->stacks, name);
	if (at != RECORD_NONE)
		return at;
	frame.class = class_of(name);
	frame_info_pseudo(&frame);
	frame.short_name = shorten(f, &frame);
	if (!take(f, f->names.bytes - before + sizeof(frame) + HASH_INDEX_ENTRY_BYTES))
		return 0;
	if (frame.short_name)
		at = named_stacks_add_name(&f->stacks, &frame);
	if (!frame.short_name || f->stacks.failed)
		fail(f, FOLDED_NO_MEMORY);
	return f->error ? 0 : at;
}

static uint32_t stack_of(struct folded_stacks *f, uint32_t outer, uint32_t frame)
{
	const struct stack_info key = {outer, frame};
	uint32_t count = f->stacks.count, at = record_find(&f->stacks, &key);

	if (at != RECORD_NONE)
		return at;
	if (!take(f, sizeof(key) + sizeof(*f->weights) + HASH_INDEX_ENTRY_BYTES))
		return RESULT_ROOT;
	if (!array_make_room(&f->weights, count, &f->weight_capacity, sizeof(*f->weights))) {
		fail(f, FOLDED_NO_MEMORY);
		return RESULT_ROOT;
	}
	f->weights[count] = 0;
	at = named_stacks_add(&f->stacks, outer, frame);
	if (f->stacks.failed)
		fail(f, FOLDED_NO_MEMORY);
	return at;
}

/* ---- lines ---- */

/* Reads a line without its end. Returns false at the end of the file, or with the error set. */
static bool next_line(struct folded_stacks *f, FILE *in)
{
	int c;

	f->line_used = 0;
	while ((c = getc_unlocked(in)) != EOF && c != '\n') {
		if (f->line_used == FOLDED_LINE_MAX)
			return fail(f, FOLDED_LONG_LINE);
		if (f->line_used == f->line_size &&
		    !array_make_room(&f->line, f->line_used, &f->line_size, 1))
			return fail(f, FOLDED_NO_MEMORY);
		f->line[f->line_used++] = (char)c;
	}
	if (c == EOF && ferror(in))
		return fail(f, FOLDED_SYSTEM);
	if (c == EOF && f->line_used == 0)
		return false;
	if (f->line_used > 0 && f->line[f->line_used - 1] == '\r')
		f->line_used--;
	return true;
}

/* Splits the weight off the line, and terminates the stack. */
static bool split_weight(struct folded_stacks *f, uint64_t *weight)
{
	size_t at = f->line_used;

	*weight = 0;
	while (at > 0 && f->line[at - 1] >= '0' && f->line[at - 1] <= '9')
		at--;
	if (at == f->line_used || at < 2 || f->line[at - 1] != ' ')
		return fail(f, FOLDED_NO_STACK);
	for (size_t i = at; i < f->line_used; i++)
		if (__builtin_mul_overflow(*weight, 10, weight) ||
		    __builtin_add_overflow(*weight, (uint64_t)(f->line[i] - '0'), weight))
			return fail(f, FOLDED_SUM);
	if (__builtin_add_overflow(f->sum, *weight, &f->sum) || f->sum > FOLDED_SUM_MAX)
		return fail(f, FOLDED_SUM);
	f->line[at - 1] = '\0';
	/* a NUL would end the text early */
	return !memchr(f->line, '\0', at - 1) || fail(f, FOLDED_NO_STACK);
}

static bool add_line(struct folded_stacks *f)
{
	uint32_t stack = RESULT_ROOT, depth = 0;
	uint64_t weight;

	if (f->line_used == 0)
		return true;
	if (!split_weight(f, &weight))
		return false;
	for (char *at = f->line, *end; at; at = end) {
		end = strchr(at, ';');
		if (end)
			*end++ = '\0';
		if (++depth > FOLDED_DEPTH_MAX)
			return fail(f, FOLDED_LONG_LINE);
		stack = stack_of(f, stack, frame_of(f, at));
		if (f->error)
			return false;
	}
	f->weights[stack] += weight;
	return true;
}

/* ---- rows ---- */

static enum row_kind kind_of(const struct folded_stacks *f, uint32_t stack)
{
	bool is_call = false, is_wait = false;
	uint32_t rank;
	enum frame_class class = f->stacks.frames.list[f->stacks.list[stack].frame].class;

	for (uint32_t at = stack; at != RESULT_ROOT; at = f->stacks.list[at].outer) {
		const struct frame_info *frame = &f->stacks.frames.list[f->stacks.list[at].frame];

		if (frame->class == CLASS_IDLE)
			return ROW_IDLE;
		if (frame->class == CLASS_WAIT && ranks_is_wait(frame->name, &rank))
			return ROW_GPU;
		is_wait |= frame->class == CLASS_WAIT;
		is_call |= frame->class == CLASS_CALL;
	}
	if (is_wait)
		return ROW_WAIT;
	if (is_call)
		return ROW_CALL;
	return class == CLASS_GPU_KERNEL || class == CLASS_GPU_WORK || class == CLASS_STALL
		       ? ROW_GPU
		       : ROW_CPU;
}

static bool make_rows(struct folded_stacks *f)
{
	struct result *r = &f->result;

	for (uint32_t i = 1; i < f->stacks.count; i++) {
		if (f->weights[i] == 0)
			continue;
		if (!take(f, sizeof(*f->rows)))
			return false;
		if (!array_make_room(&f->rows, r->row_count, &f->row_capacity, sizeof(*f->rows)))
			return fail(f, FOLDED_NO_MEMORY);
		f->rows[r->row_count++] = (struct row){.kind = kind_of(f, i),
						       .stack = i,
						       .count = f->weights[i],
						       .ns = f->weights[i]};
	}
	return true;
}

static bool read_all(struct folded_stacks *f, FILE *in, uint64_t *line)
{
	if (!named_stacks_begin(&f->stacks) ||
	    !array_make_room(&f->weights, 0, &f->weight_capacity, sizeof(*f->weights)))
		return fail(f, FOLDED_NO_MEMORY);
	f->weights[0] = 0;
	for (*line = 1; next_line(f, in); ++*line)
		if (!add_line(f))
			return false;
	return !f->error && make_rows(f);
}

static void make_result(struct folded_stacks *f)
{
	struct result *r = &f->result;

	f->nowhere = place_unknown();
	r->frames = f->stacks.frames.list;
	r->frame_count = f->stacks.frames.count;
	r->stacks = f->stacks.list;
	r->stack_count = r->record_stack_count = f->stacks.count;
	r->rows = f->rows;
	r->places = &f->nowhere;
	r->place_count = 1;
	r->place_names = &f->place_names;
	r->device_names = &f->device_names;
	r->totals = (struct totals){.ledger = &f->ledger,
				    .sample_ns = 1,
				    .measure = {.samples_cpu = true, .traces_gpu = true}};
}

struct folded_stacks *folded_read(FILE *in, struct quota *memory, enum folded_error *error,
				  uint64_t *line)
{
	struct folded_stacks *f = calloc(1, sizeof(*f));

	*line = 0;
	*error = FOLDED_NO_MEMORY;
	if (!f)
		return NULL;
	f->memory = (struct quota){.limit = SIZE_MAX, .outer = memory};
	read_all(f, in, line);
	free(f->line);
	f->line = NULL;
	*error = f->error;
	if (f->error) {
		int saved = errno;

		folded_free(f);
		errno = saved;
		return NULL;
	}
	named_stacks_finish(&f->stacks);
	make_result(f);
	return f;
}

void folded_free(struct folded_stacks *f)
{
	if (!f)
		return;
	quota_return(&f->memory, f->memory.used);
	intern_release(&f->names);
	named_stacks_release(&f->stacks);
	free(f->weights);
	free(f->rows);
	free(f->line);
	free(f);
}

const struct result *folded_result(const struct folded_stacks *f)
{
	return &f->result;
}
