// SPDX-License-Identifier: MIT
#include "profiler/shape/live_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/base/cuda_functions.h"
#include "profiler/shape/short_name.h"
#include "symbolize/demangle.h"
#include "symbolize/place_name.h"
#include "symbolize/util/array.h"
#include "symbolize/util/intern.h"
#include "symbolize/util/monotonic.h"
#include "symbolize/util/record_set.h"
#include "symbolize/util/sorted.h"
#include "symbolize/util/text.h"

/* The short form of a name. */
struct shown {
	const char *name, *text; /* `name` is compared by its pointer */
	bool is_kernel;
};

struct live_names {
	struct live_view view;
	struct symbolizer *symbolizer;
	struct address_space *space; /* the command's; NULL until its pid is known */
	struct intern strings;
	RECORD_SET(struct shown) shown;
	struct live_reader reader;
	size_t used; /* bytes of the symbolizer's tables */
	int64_t deadline_ms;
};

struct live_names *live_names_new(int kallsyms)
{
	struct live_names *n = calloc(1, sizeof(*n));

	if (!n)
		return NULL;
	n->strings.max_bytes = LIVE_NAMES_TEXTS;
	n->symbolizer = symbolizer_new();
	if (!n->symbolizer) {
		free(n);
		return NULL;
	}
	symbolizer_share_memory(n->symbolizer, &n->used, LIVE_NAMES_TABLES);
	symbolizer_set_kallsyms(n->symbolizer, kallsyms);
	return n;
}

void live_names_free(struct live_names *n)
{
	if (!n)
		return;
	for (int i = 0; i < LIVE_TABLES; i++)
		free(n->view.lists[i].lines);
	address_space_free(n->space);
	symbolizer_free(n->symbolizer);
	intern_release(&n->strings);
	record_set_release(&n->shown.set);
	live_reader_release(&n->reader);
	free(n);
}

/* ---- short names ---- */

struct shown_key {
	const char *name;
	bool is_kernel;
};

static bool shown_equal(const void *records, uint32_t position, const void *key)
{
	const struct shown *a = (const struct shown *)records + position;
	const struct shown_key *b = key;

	return a->name == b->name && a->is_kernel == b->is_kernel;
}

static const char *keep(struct live_names *n, char *text, const char *otherwise)
{
	const char *kept = text ? intern_string(&n->strings, text) : NULL;

	free(text);
	return kept ? kept : otherwise;
}

static const char *shorten(struct live_names *n, const char *name, bool is_kernel)
{
	char *full =
		is_kernel ? demangle(symbolizer_demangler(n->symbolizer), name, DEMANGLE_SIGNATURE)
			  : NULL;
	char *text = short_name(full ? full : name, is_kernel);

	if (text)
		free(full);
	else
		text = full;
	return text ? keep(n, text, name) : name;
}

/* Returns the short form of a name, which is interned. */
static const char *short_of(struct live_names *n, const char *name, bool is_kernel)
{
	const struct shown_key key = {name, is_kernel};
	uint32_t hash = hash_number((uintptr_t)name + is_kernel);
	uint32_t at = record_find_equal(&n->shown, hash, shown_equal, &key);
	const char *text;

	if (at != RECORD_NONE)
		return n->shown.list[at].text;
	text = shorten(n, name, is_kernel);
	record_add_hashed(&n->shown, hash, &((struct shown){name, text, is_kernel}));
	return text;
}

/* ---- frames ---- */

static struct code_ref place_of(struct live_names *n, const struct live_frame *frame)
{
	if (frame->code.module <= MODULE_JIT)
		return frame->code;
	if (!n->space || !frame->file_of_code.path[0])
		return (struct code_ref){.module = MODULE_UNKNOWN};
	return symbolizer_locate_in(n->symbolizer, n->space, &frame->file_of_code,
				    frame->code.offset);
}

/* Returns "[libfoo.so]". */
static const char *file_name(struct live_names *n, const struct live_frame *frame)
{
	return keep(n, place_name(frame->file_of_code.path, NULL), "[unknown]");
}

/* Returns the full name of a place in code. */
static const char *code_name(struct live_names *n, const struct live_frame *frame)
{
	struct code_ref place;

	if (frame->code.module == MODULE_JIT)
		return "[jit]";
	if (frame->code.module > MODULE_JIT && monotonic_ms() >= n->deadline_ms)
		return file_name(n, frame);
	place = place_of(n, frame);
	if (place.module == MODULE_JIT)
		return "[jit]";
	return symbolizer_name(n->symbolizer, place, frame->kind == FRAME_RETURN);
}

static const char *python_name(struct live_names *n, const struct live_frame *frame)
{
	const char *file = base_name(frame->file);
	char *text = NULL;
	int written;

	if (frame->line)
		written = asprintf(&text, "%s (%s:%u)", frame->text, file, frame->line);
	else if (file[0])
		written = asprintf(&text, "%s (%s)", frame->text, file);
	else
		written = asprintf(&text, "%s", frame->text);
	return keep(n, written < 0 ? NULL : text, "[unknown]");
}

static const char *kernel_name(struct live_names *n, const char *mangled)
{
	const char *unique = intern_string(&n->strings, mangled);

	if (!unique)
		return "[unknown]";
	return unique[0] ? short_of(n, unique, true) : "[unnamed]";
}

static const char *text_name(struct live_names *n, const struct live_frame *frame)
{
	const char *unique = intern_string(&n->strings, frame->text);

	return unique ? unique : "[unknown]";
}

static const char *frame_name(struct live_names *n, const struct live_frame *frame)
{
	switch (frame->kind) {
	case FRAME_CODE:
	case FRAME_RETURN:
		return short_of(n, code_name(n, frame), false);
	case FRAME_PYTHON:
		return python_name(n, frame);
	case FRAME_GPU_KERNEL:
		return kernel_name(n, frame->text);
	default:
		return text_name(n, frame);
	}
}

/*
 * Returns the function that called CUDA. A statically linked runtime has frames of its own: the
 * caller is the one around the outermost function of CUDA.
 */
static const char *site_name(struct live_names *n, const struct live_frame *frames, uint32_t count)
{
	if (count == 0)
		return "[unknown]";
	for (uint32_t i = count; i-- > 0;)
		if (frames[i].kind != FRAME_PYTHON && i + 1 < count &&
		    cuda_function_of(code_name(n, &frames[i])) != CUDA_FUNCTION_NONE)
			return frame_name(n, &frames[i + 1]);
	return frame_name(n, &frames[0]);
}

/* ---- tables ---- */

static int by_name(const void *a, const void *b)
{
	const struct live_line *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static int by_time(const void *a, const void *b)
{
	const struct live_line *x = a, *y = b;
	int order = compare_numbers(y->sum.ns, x->sum.ns);

	return order ? order : strcmp(x->name, y->name);
}

static void merge(struct live_list *list)
{
	uint32_t kept = 0;

	if (list->count == 0)
		return;
	qsort(list->lines, list->count, sizeof(*list->lines), by_name);
	for (uint32_t i = 1; i < list->count; i++) {
		struct live_line *line = &list->lines[i];

		if (strcmp(list->lines[kept].name, line->name) == 0) {
			list->lines[kept].sum.ns += line->sum.ns;
			list->lines[kept].sum.count += line->sum.count;
		} else {
			list->lines[++kept] = *line;
		}
	}
	list->count = kept + 1;
	qsort(list->lines, list->count, sizeof(*list->lines), by_time);
}

static bool read_table(struct live_names *n, struct live_list *list, bool is_sites)
{
	uint32_t entries;

	if (!live_reader_table(&n->reader, &list->whole, &entries))
		return false;
	list->count = 0;
	for (uint32_t i = 0; i < entries; i++) {
		struct live_frame frames[LIVE_SITE_FRAMES];
		struct live_line line;
		uint32_t count;

		if (!live_reader_entry(&n->reader, &line.sum, frames, &count) ||
		    !array_make_room(&list->lines, list->count, &list->capacity, sizeof(line)))
			return false;
		if (is_sites)
			line.name = site_name(n, frames, count);
		else
			line.name = count ? frame_name(n, &frames[0]) : "[unknown]";
		list->lines[list->count++] = line;
	}
	merge(list);
	return true;
}

const struct live_view *live_names_read(struct live_names *n, const char *bytes, size_t size)
{
	if (!live_reader_begin(&n->reader, bytes, size, &n->view.numbers))
		return NULL;
	if (!n->space && n->view.numbers.pid)
		n->space = address_space_new(1, (pid_t)n->view.numbers.pid, true);
	n->deadline_ms = monotonic_ms() + LIVE_NAMES_TIMEOUT_MS;
	for (int i = 0; i < LIVE_TABLES && n->reader.at < n->reader.end; i++)
		if (!read_table(n, &n->view.lists[i], i == LIVE_SITES))
			return NULL;
	return &n->view;
}
