// SPDX-License-Identifier: MIT
#include "profiler/shape/started_code.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/base/command_text.h"
#include "profiler/base/process_names.h"
#include "profiler/shape/foreign_folder.h"
#include "profiler/shape/path_links.h"
#include "profiler/shape/plain_path.h"
#include "symbolize/util/text.h"

#define DELETED " (deleted)" /* proc(5): maps */

struct word {
	const char *text;
	char *path;   /* absolute; NULL: no path, or relative to an unknown folder */
	char *real;   /* path with links followed; NULL: no links */
	char *module; /* "/a/b" for "-m a.b"; NULL: no module */
};

struct search {
	struct word words[STARTED_WORDS_MAX];
	uint32_t count;
	const char *folder; /* the working directory */
	const char *links;  /* path_links.h; or NULL */
	bool (*add)(void *context, const char *folder);
	bool (*add_program)(void *context, const char *module); /* or NULL */
	void *context;
	bool failed;
};

/* Adds a folder, and the folder that it leads to. */
static void add_folder(struct search *s, const char *path, size_t length)
{
	char *folder = strndup(path, length);
	char *real = folder ? path_links_follow(s->links, folder) : NULL;

	s->failed |= !folder || !s->add(s->context, length ? folder : "/") ||
		     (real && !s->add(s->context, real));
	free(folder);
	free(real);
}

/* Adds the folder of a file, and the folder of the file that it leads to. */
static void add_folder_of(struct search *s, const char *path)
{
	char *real = path_links_follow(s->links, path);

	add_folder(s, path, (size_t)(base_name(path) - path) - 1);
	if (real)
		add_folder(s, real, (size_t)(base_name(real) - real) - 1);
	free(real);
}

/* ---- the command ---- */

/* Returns "/a/b" for "a.b". Returns NULL if `name` is no module, or out of memory. */
static char *module_path(const char *name)
{
	char *path = NULL;

	if (!name[0] || name[0] == '.' || strchr(name, '/') || asprintf(&path, "/%s", name) < 0)
		return NULL;
	for (char *at = path; *at; at++)
		if (*at == '.')
			*at = '/';
	return path;
}

static void add_word(struct search *s, const char *text, const char *before)
{
	bool has_m = before && (strcmp(before, "-m") == 0 || strcmp(before, "--module") == 0);
	struct word *word = &s->words[s->count];

	if (s->count == STARTED_WORDS_MAX || !text[0])
		return;
	s->count++;
	word->text = text;
	word->path = text[0] == '-' ? NULL : plain_path(s->folder, text);
	word->real = word->path ? path_links_follow(s->links, word->path) : NULL;
	if (has_m)
		word->module = module_path(text);
	else if (starts_with(text, "-m") && text[2] != '-')
		word->module = module_path(text + 2);
}

/* Returns the script that an interpreter runs with these words, to be freed; or NULL. */
static char *find_script(const struct search *s, char *const *words)
{
	struct process_names names = {.program = NULL};
	char *line, *script = NULL;
	size_t size = 1;
	FILE *out = open_memstream(&line, &size);

	if (!out)
		return NULL;
	for (; *words; words++)
		fwrite(*words, 1, strlen(*words) + 1, out);
	fputc('\0', out);
	if (fclose(out) != 0)
		return NULL;
	process_names_find(&names, "", "", line, size - 1, true);
	if (names.count) {
		/* the last name is the script, if the interpreter runs one */
		const char *last = names.list[names.count - 1];

		if (last > line + strlen(line) && strchr(last, '/'))
			script = plain_path(s->folder, last);
	}
	free(line);
	return script;
}

/* Returns true if code below `folder` ran. A zipapp is a file that counts as a folder. */
static bool ran_below(const struct result *r, const char *folder)
{
	size_t length = strlen(folder);

	for (uint32_t i = 0; i < r->frame_count; i++) {
		const char *file = r->frames[i].file;
		char *path = r->frames[i].class == CLASS_PYTHON && file && file[0] != '<'
				     ? plain_path(r->totals.folder, file)
				     : NULL;
		bool is_below = path && strncmp(path, folder, length) == 0 && path[length] == '/';

		free(path);
		if (is_below)
			return true;
	}
	return false;
}

static bool ran_below_link(const struct search *s, const struct result *r, const char *folder)
{
	char *real = path_links_follow(s->links, folder);
	bool ran = real && ran_below(r, real);

	free(real);
	return ran;
}

/* Takes the words of a command. At depth 0 a word may hold a command, as in `sh -c`. */
static void take_words(struct search *s, const struct result *r, char *const *words, int depth,
		       char ***inner)
{
	char *script = find_script(s, words);

	if (script && (ran_below(r, script) || ran_below_link(s, r, script)))
		add_folder(s, script, strlen(script));
	else if (script)
		add_folder_of(s, script);
	free(script);
	for (uint32_t i = 0; words[i]; i++) {
		add_word(s, words[i], i ? words[i - 1] : NULL);
		if (depth > 0 || !strchr(words[i], ' ') || *inner)
			continue;
		*inner = command_words(words[i]);
		if (*inner)
			take_words(s, r, *inner, depth + 1, inner);
	}
}

/* ---- the code that ran ---- */

/* Returns true if the path ends with `end` and `more`. `before` is the length before them. */
static bool ends_with_both(const char *path, const char *end, const char *more, size_t *before)
{
	size_t length = strlen(path), n = strlen(end), m = strlen(more);

	if (length < n + m || !ends_with(path, more) || strncmp(path + length - m - n, end, n) != 0)
		return false;
	*before = length - m - n;
	return true;
}

/* Adds the outermost folder of the package, or the folder of a module without a package. */
static void add_module(struct search *s, const char *path, size_t before, const char *module)
{
	const char *inside = strchr(module + 1, '/');

	if (inside || path[before + strlen(module)] == '/')
		add_folder(s, path, before + (inside ? (size_t)(inside - module) : strlen(module)));
	else
		add_folder(s, path, before);
}

/* Returns true if a path is that of a word, with links of both followed. */
static bool is_path_of(const struct word *word, const char *path, const char *real)
{
	return word->path && (strcmp(word->path, path) == 0 ||
			      (word->real && strcmp(word->real, real ? real : path) == 0) ||
			      (real && strcmp(word->path, real) == 0));
}

static void take_python(struct search *s, const char *file)
{
	char *path = file[0] == '<' ? NULL : plain_path(s->folder, file);
	char *real = path ? path_links_follow(s->links, path) : NULL;

	for (uint32_t i = 0; path && i < s->count; i++) {
		const struct word *word = &s->words[i];
		size_t before;

		if (word->module && (ends_with_both(path, word->module, ".py", &before) ||
				     ends_with_both(path, word->module, "/__main__.py", &before) ||
				     ends_with_both(path, word->module, "/__init__.py", &before)))
			add_module(s, path, before, word->module);
		else if (is_path_of(word, path, real) ||
			 (i == 0 && strcmp(word->text, base_name(path)) == 0))
			add_folder_of(s, path);
	}
	free(path);
	free(real);
}

/* Adds the folder in which a source file was compiled, if the file is below that folder. */
static bool add_compiled_in(struct search *s, const char *source, const char *path)
{
	const char *mark = strstr(source, "/./");
	char *text = mark ? strndup(source, (size_t)(mark - source)) : NULL;
	char *folder = text ? plain_path(NULL, text) : NULL;
	size_t length = folder ? strlen(folder) : 0;
	bool is_below = length > 0 && strncmp(path, folder, length) == 0 && path[length] == '/';

	if (is_below)
		add_folder(s, folder, length);
	free(text);
	free(folder);
	return is_below;
}

/* Adds the folder of a source file, unless the file is of others. */
static void take_source(struct search *s, const char *source)
{
	char *path = plain_path(NULL, source);

	if (path && strrchr(path, '/') > path && !source_is_foreign(path) &&
	    !add_compiled_in(s, source, path))
		add_folder_of(s, path);
	free(path);
}

/*
 * Adds the folder of a program that the command names. Compares names, for the program may have
 * been found by a search or a link. Returns false for other modules, libraries and interpreters.
 */
static bool take_native(struct search *s, const char *module)
{
	const char *name = base_name(module);
	size_t length = strlen(name);

	if (module[0] != '/' || strstr(name, ".so") || process_names_is_interpreter(name))
		return false;
	if (length > strlen(DELETED) && ends_with(name, DELETED))
		length -= strlen(DELETED);
	for (uint32_t i = 0; i < s->count; i++) {
		const char *word = base_name(s->words[i].text);

		if ((strlen(word) == length && strncmp(word, name, length) == 0) ||
		    is_path_of(&s->words[i], module, NULL) ||
		    path_links_has_program(s->links, s->words[i].text, module)) {
			add_folder_of(s, module);
			if (s->add_program)
				s->failed |= !s->add_program(s->context, module);
			return true;
		}
	}
	return false;
}

static void take_frames(struct search *s, const struct result *r)
{
	/* texts of the frame before: most frames repeat them */
	const char *file = NULL, *module = NULL, *source = NULL;
	bool is_program = false;

	for (uint32_t i = 0; i < r->frame_count; i++) {
		const struct frame_info *f = &r->frames[i];

		if (f->class == CLASS_PYTHON && f->file && f->file != file)
			take_python(s, file = f->file);
		else if (f->class == CLASS_NATIVE && f->module && f->module != module)
			is_program = take_native(s, module = f->module);
		if (f->class == CLASS_NATIVE && is_program && f->module == module && f->source &&
		    f->source != source)
			take_source(s, source = f->source);
	}
}

bool started_code_visit(const struct result *r, bool (*add)(void *context, const char *folder),
			bool (*add_program)(void *context, const char *module), void *context)
{
	char **words = command_words(r->totals.command ? r->totals.command : ""), **inner = NULL;
	struct search *s = calloc(1, sizeof(*s));
	bool ok = words && s;

	if (ok) {
		s->folder = r->totals.folder;
		s->links = r->totals.links;
		s->add = add;
		s->add_program = add_program;
		s->context = context;
		take_words(s, r, words, 0, &inner);
		take_frames(s, r);
		ok = !s->failed;
	}
	for (uint32_t i = 0; s && i < s->count; i++) {
		free(s->words[i].path);
		free(s->words[i].real);
		free(s->words[i].module);
	}
	free(s);
	free(words);
	free(inner);
	return ok;
}
