// SPDX-License-Identifier: MIT
#include "profiler/shape/source_text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "symbolize/util/bounded_call.h"
#include "symbolize/util/sorted.h"
#include "symbolize/util/text.h"

#define ELLIPSIS "\xe2\x80\xa6"

/* ---- lines ---- */

/* Samples at one line. */
struct use {
	const char *file;
	uint32_t line;
	uint64_t ns;
};

struct wanted {
	struct source_file file;
	const struct use *uses; /* in order of lines */
	uint32_t use_count;
};

/* Makes parts that do not touch, of the lines with samples and those around. */
static bool make_parts(struct wanted *w)
{
	struct source_file *f = &w->file;

	f->parts = calloc(w->use_count, sizeof(*f->parts));
	for (uint32_t i = 0; f->parts && i < w->use_count; i++) {
		uint32_t line = w->uses[i].line;
		uint32_t from = line > SOURCE_TEXT_AROUND ? line - SOURCE_TEXT_AROUND : 1;
		uint32_t to = line < UINT32_MAX - SOURCE_TEXT_AROUND ? line + SOURCE_TEXT_AROUND
								     : UINT32_MAX - 1;
		struct source_part *last = f->part_count ? &f->parts[f->part_count - 1] : NULL;

		if (last && from <= last->first + last->count)
			last->count = to - last->first + 1;
		else
			f->parts[f->part_count++] = (struct source_part){from, to - from + 1};
	}
	return f->parts;
}

/* Copies a cleaned line, cut if it is long. Returns its length. */
static size_t copy_line(char *to, const char *line, size_t length, size_t max)
{
	bool is_cut = length > max;
	size_t used = 0, at = 0;

	if (length > 0 && line[length - 1] == '\r')
		length--;
	if (is_cut)
		length = cut_text(line, max - strlen(ELLIPSIS));
	for (;;) {
		const char *tab = memchr(line + at, '\t', length - at);
		size_t bytes = tab ? (size_t)(tab - line) - at : length - at;

		memcpy(to + used, line + at, bytes);
		to[used + bytes] = '\0';
		clean_text(to + used);
		used += strlen(to + used);
		if (!tab)
			break;
		to[used++] = '\t';
		at += bytes + 1;
	}
	if (is_cut) {
		memcpy(to + used, ELLIPSIS, strlen(ELLIPSIS));
		used += strlen(ELLIPSIS);
	}
	return used;
}

/* Keeps the lines of the parts, as far as the file has them. */
static bool keep_lines(struct wanted *w, const char *text, size_t size, size_t line_max)
{
	struct source_file *f = &w->file;
	uint32_t line = 1, part = 0;
	size_t at = 0;
	char *smaller;

	f->text = malloc(size + 2); /* a missing newline, and a NUL */
	if (!f->text)
		return false;
	for (; at < size && part < f->part_count; line++) {
		const char *end = memchr(text + at, '\n', size - at);
		size_t length = end ? (size_t)(end - text) - at : size - at;

		if (line >= f->parts[part].first) {
			f->size += copy_line(f->text + f->size, text + at, length, line_max);
			f->text[f->size++] = '\n';
			part += line + 1 == f->parts[part].first + f->parts[part].count;
		}
		at += length + (end != NULL);
	}
	if (part < f->part_count) {
		/* the file ends in this part, or before */
		f->has_changed |= w->uses[w->use_count - 1].line >= line;
		f->parts[part].count =
			line > f->parts[part].first ? line - f->parts[part].first : 0;
		f->part_count = part + (f->parts[part].count > 0);
	}
	smaller = realloc(f->text, f->size + 1);
	f->text = smaller ? smaller : f->text;
	return true;
}

/* ---- all files ---- */

static bool is_after_run(const struct result *r, int64_t written_ns)
{
	const struct totals *t = &r->totals;

	return t->start_unix_ns && written_ns > 0 && (uint64_t)written_ns > t->start_unix_ns &&
	       (uint64_t)written_ns - t->start_unix_ns > t->elapsed_ns;
}

/* Returns false if out of memory. */
static bool read_file(const struct result *r, const struct source_limits *limits,
		      struct bounded_caller *calls, struct wanted *w)
{
	struct source_content content;
	bool is_kept = true;

	if (source_file_read(calls, r->totals.folder, w->file.path, limits->file, &content) != 0)
		return false;
	w->file.state = content.state;
	if (content.state == SOURCE_READ) {
		w->file.has_changed = is_after_run(r, content.written_ns);
		is_kept = make_parts(w) && keep_lines(w, content.text, content.size, limits->line);
	}
	free(content.text);
	return is_kept;
}

static void forget_lines(struct source_file *f, enum source_state state)
{
	free(f->parts);
	free(f->text);
	f->parts = NULL;
	f->text = NULL;
	f->part_count = 0;
	f->size = 0;
	f->state = state;
}

static bool read_files(const struct result *r, const struct source_limits *limits,
		       struct wanted *list, uint32_t count)
{
	struct bounded_caller *calls = bounded_caller_new(SOURCE_TEXT_RUN_MS);
	bool is_read = calls;
	uint64_t total = 0;

	for (uint32_t i = 0; i < count && is_read; i++) {
		struct source_file *f = &list[i].file;

		f->state = SOURCE_LEFT_OUT;
		if (i >= limits->files)
			continue;
		is_read = read_file(r, limits, calls, &list[i]);
		if (total + f->size > limits->total)
			forget_lines(f, SOURCE_LEFT_OUT);
		total += f->size;
	}
	bounded_caller_free(calls);
	return is_read;
}

/* Compares paths by pointer: equal paths are one pointer, and may be long. */
static int by_place(const void *a, const void *b)
{
	const struct use *x = a, *y = b;
	int order = compare_numbers((uintptr_t)x->file, (uintptr_t)y->file);

	return order ? order : compare_numbers(x->line, y->line);
}

static int by_time(const void *a, const void *b)
{
	const struct wanted *x = a, *y = b;
	int order = compare_numbers(y->file.ns, x->file.ns);

	return order ? order : strcmp(x->file.path, y->file.path);
}

/* Adds a row's time to its frame, if that is a line of source. */
static void add_row(const struct result *r, const struct row *row, uint64_t *ns)
{
	const struct stack_info *last = &r->stacks[row->stack];
	const struct frame_info *line;

	if (row->kind != ROW_GPU || row->stack == RESULT_ROOT || last->outer == RESULT_ROOT ||
	    r->frames[last->frame].class != CLASS_STALL)
		return;
	line = &r->frames[r->stacks[last->outer].frame];
	if (line->class == CLASS_GPU_CODE && line->file && line->line > 0)
		ns[line - r->frames] += row->ns;
}

static uint32_t find_uses(const struct result *r, struct use *uses, uint64_t *ns)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < r->row_count; i++)
		add_row(r, &r->rows[i], ns);
	for (uint32_t i = 0; i < r->frame_count; i++)
		if (ns[i])
			uses[count++] = (struct use){r->frames[i].file, r->frames[i].line, ns[i]};
	if (count)
		qsort(uses, count, sizeof(*uses), by_place);
	return count;
}

static uint32_t group_uses(const struct use *uses, uint32_t count, struct wanted *files)
{
	uint32_t file_count = 0;

	for (uint32_t i = 0; i < count; i++) {
		if (i == 0 || uses[i - 1].file != uses[i].file)
			files[file_count++] =
				(struct wanted){.file.path = uses[i].file, .uses = &uses[i]};
		files[file_count - 1].use_count++;
		files[file_count - 1].file.ns += uses[i].ns;
	}
	if (file_count)
		qsort(files, file_count, sizeof(*files), by_time);
	return file_count;
}

int source_text_read(const struct result *r, const struct source_limits *limits,
		     struct source_list *list)
{
	static const struct source_limits usual = {SOURCE_TEXT_FILE, SOURCE_TEXT_TOTAL,
						   SOURCE_TEXT_FILES, SOURCE_TEXT_LINE};
	struct use *uses = calloc(r->frame_count + 1u, sizeof(*uses));
	uint64_t *ns = calloc(r->frame_count + 1u, sizeof(*ns));
	uint32_t use_count = uses && ns ? find_uses(r, uses, ns) : 0, count;
	struct wanted *files = calloc(use_count + 1u, sizeof(*files));
	bool is_read = uses && ns && files;

	*list = (struct source_list){.count = 0};
	count = is_read ? group_uses(uses, use_count, files) : 0;
	if (count > 0) {
		list->files = calloc(count, sizeof(*list->files));
		is_read = read_files(r, limits ? limits : &usual, files, count) && list->files;
		for (uint32_t i = 0; i < count; i++) {
			if (is_read)
				list->files[list->count++] = files[i].file;
			else
				forget_lines(&files[i].file, SOURCE_NOT_FOUND);
		}
	}
	if (!is_read)
		source_text_release(list);
	free(uses);
	free(ns);
	free(files);
	return is_read ? 0 : -ENOMEM;
}

void source_text_release(struct source_list *list)
{
	for (uint32_t i = 0; i < list->count; i++)
		forget_lines(&list->files[i], SOURCE_NOT_FOUND);
	free(list->files);
	*list = (struct source_list){.count = 0};
}
