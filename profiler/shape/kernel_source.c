// SPDX-License-Identifier: MIT
#include "profiler/shape/kernel_source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "symbolize/util/array.h"
#include "symbolize/util/text.h"

#define NAME_BYTES 512u
#define PATH_BYTES 4096u

/* A part of the text. */
struct span {
	const char *at;
	size_t size;
};

static const struct span nothing = {"", 0};

/* State of reading a text, line by line. */
struct reading {
	struct kernel_sources *sources;
	uint32_t line;
	/* parts of the comment that goes on */
	struct span operators, nodes, path;
	/* parts of the comment above the kernel whose text goes on; lists are kept once for all */
	const char *inner_operators, *inner_nodes;
	struct span inner_path;
	bool in_kernel;
	bool is_decorated; /* a decorator "jit" waits for its function */
	bool failed;       /* out of memory */
};

/* ---- spans ---- */

static bool begins(struct span s, const char *text)
{
	size_t length = strlen(text);

	return s.size >= length && memcmp(s.at, text, length) == 0;
}

static struct span behind(struct span s, size_t bytes)
{
	return (struct span){s.at + bytes, s.size - bytes};
}

static struct span without_blanks(struct span s)
{
	while (s.size > 0 && (s.at[0] == ' ' || s.at[0] == '\t'))
		s = behind(s, 1);
	while (s.size > 0 && strchr(" \t\r", s.at[s.size - 1]))
		s.size--;
	return s;
}

/* Returns what follows `text` in a span, or an empty span. */
static struct span after(struct span s, const char *text)
{
	const char *found = memmem(s.at, s.size, text, strlen(text));

	return found ? behind(s, (size_t)(found - s.at) + strlen(text)) : nothing;
}

/* Returns what stands between `text` and the next "]". */
static struct span listed(struct span line, const char *text)
{
	struct span s = after(line, text);
	const char *end = s.size ? memchr(s.at, ']', s.size) : NULL;

	s.size = end ? (size_t)(end - s.at) : 0;
	return without_blanks(s);
}

/* Returns true for bytes of a Python name. Those beyond ASCII may be letters. */
static bool is_of_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || (unsigned char)c >= 0x80;
}

static struct span leading_name(struct span s)
{
	size_t length = 0;

	while (length < s.size && is_of_name(s.at[length]))
		length++;
	return (struct span){s.at, length};
}

/* ---- texts that are kept ---- */

static const char *keep(struct reading *r, struct span s)
{
	char *text = strndup(s.at, s.size);
	const char *kept = text ? intern_string(&r->sources->strings, text) : NULL;

	r->failed |= !kept;
	free(text);
	return kept;
}

static uint32_t count_names(struct span s)
{
	uint32_t count = s.size > 0;

	for (size_t i = 0; i < s.size; i++)
		count += s.at[i] == ',';
	return count;
}

/* Keeps a list, whole or up to a name: "aten.add, aten.mul (12 more)". */
static const char *keep_list(struct reading *r, struct span s)
{
	char text[KERNEL_SOURCE_LIST + 32];
	size_t length = KERNEL_SOURCE_LIST;
	struct span cut;

	if (s.size <= KERNEL_SOURCE_LIST)
		return keep(r, s);
	while (length > 0 && s.at[length] != ',')
		length--;
	cut = (struct span){s.at, length};
	snprintf(text, sizeof(text), "%.*s (%u more)", (int)length, s.at,
		 count_names(s) - count_names(cut));
	return keep(r, (struct span){text, strlen(text)});
}

/* ---- kernels ---- */

/* Sets the file and line of a user's kernel: "/app/kernels.py:12". */
static void set_path(struct reading *r, struct kernel_source *kernel)
{
	struct span path = r->inner_path;
	const char *colon =
		path.size && path.size <= PATH_BYTES ? memrchr(path.at, ':', path.size) : NULL;
	struct span number = colon ? behind(path, (size_t)(colon - path.at) + 1) : nothing;
	uint32_t line = 0;

	if (number.size > 9)
		return;
	for (size_t i = 0; i < number.size; i++) {
		if (number.at[i] < '0' || number.at[i] > '9')
			return;
		line = 10 * line + (uint32_t)(number.at[i] - '0');
	}
	if (line == 0 || colon == path.at)
		return;
	kernel->path = keep(r, (struct span){path.at, (size_t)(colon - path.at)});
	kernel->line = line;
}

static void add_kernel(struct reading *r, struct span name)
{
	struct kernel_sources *sources = r->sources;
	struct kernel_source kernel = {.line = r->line, .count = 1};

	if (name.size == 0 || name.size > NAME_BYTES)
		return;
	sources->is_cut |= sources->count >= KERNEL_SOURCE_MAX;
	if (sources->is_cut)
		return;
	kernel.name = keep(r, name);
	kernel.operators = r->in_kernel ? r->inner_operators : keep(r, nothing);
	kernel.nodes = r->in_kernel ? r->inner_nodes : keep(r, nothing);
	if (r->in_kernel)
		set_path(r, &kernel);
	if (!array_make_room(&sources->list, sources->count, &sources->capacity,
			     sizeof(*sources->list)))
		r->failed = true;
	else
		sources->list[sources->count++] = kernel;
}

/* ---- lines ---- */

static void read_comment(struct reading *r, struct span line)
{
	struct span operators = listed(line, "Original ATen: ["), path;

	if (operators.size > 0) {
		r->operators = operators;
		r->nodes = listed(line, "Source Nodes: [");
	}
	path = after(line, "# Original path: ");
	if (path.size > 0)
		r->path = without_blanks(path);
}

/* Returns true for "@triton.jit", "@jit(...)" and the like. */
static bool is_jit(struct span line)
{
	struct span name = behind(line, 1), part = leading_name(name);

	for (; part.size < name.size && name.at[part.size] == '.'; part = leading_name(name))
		name = behind(name, part.size + 1);
	return part.size == 3 && memcmp(part.at, "jit", 3) == 0;
}

static void read_code(struct reading *r, struct span line)
{
	struct span code = without_blanks(line);
	bool is_function = begins(code, "def "), is_class = begins(code, "class ");

	if (begins(code, "@")) {
		r->is_decorated |= is_jit(code);
	} else if (is_function || is_class) {
		if (r->is_decorated && is_function)
			add_kernel(r, leading_name(without_blanks(behind(code, 4))));
		r->is_decorated = false;
	} else if (after(line, "async_compile.").size > 0) {
		r->in_kernel = true;
		r->is_decorated = false;
		r->inner_operators = keep_list(r, r->operators);
		r->inner_nodes = keep_list(r, r->nodes);
		r->inner_path = r->path;
	} else if (begins(line, "'''") || begins(line, "\"\"\"")) {
		r->in_kernel = false;
	}
}

static void read_line(struct reading *r, struct span line)
{
	r->line++;
	if (begins(line, "#")) {
		read_comment(r, line);
		return;
	}
	read_code(r, line);
	r->operators = r->nodes = r->path = nothing;
}

/* ---- files ---- */

static int by_name(const void *a, const void *b)
{
	const struct kernel_source *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	return order ? order : x->line < y->line ? -1 : x->line > y->line;
}

/* Keeps the first of each name. */
static void join_names(struct kernel_sources *sources)
{
	uint32_t kept = 0;

	if (sources->count)
		qsort(sources->list, sources->count, sizeof(*sources->list), by_name);
	for (uint32_t i = 0; i < sources->count; i++) {
		if (kept > 0 && strcmp(sources->list[kept - 1].name, sources->list[i].name) == 0)
			sources->list[kept - 1].count++;
		else
			sources->list[kept++] = sources->list[i];
	}
	sources->count = kept;
}

int kernel_sources_find(struct kernel_sources *sources, const char *text, size_t size)
{
	struct reading r = {.sources = sources, .operators = nothing, .nodes = nothing};

	r.path = r.inner_path = nothing;
	for (size_t at = 0; at < size && !r.failed;) {
		const char *end = memchr(text + at, '\n', size - at);
		size_t length = end ? (size_t)(end - text) - at : size - at;

		read_line(&r, (struct span){text + at, length});
		at += length + 1;
	}
	if (r.failed)
		return -ENOMEM;
	join_names(sources);
	return 0;
}

void kernel_sources_release(struct kernel_sources *sources)
{
	free(sources->list);
	intern_release(&sources->strings);
	*sources = (struct kernel_sources){.list = NULL};
}

static int compare_name(const void *key, const void *element)
{
	return strcmp(key, ((const struct kernel_source *)element)->name);
}

const struct kernel_source *kernel_sources_named(const struct kernel_sources *sources,
						 const char *name)
{
	if (sources->count == 0)
		return NULL;
	return bsearch(name, sources->list, sources->count, sizeof(*sources->list), compare_name);
}
