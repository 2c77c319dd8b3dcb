// SPDX-License-Identifier: MIT
#include "profiler/shape/path_links.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "profiler/base/command_text.h"
#include "profiler/shape/plain_path.h"
#include "symbolize/util/bounded_call.h"
#include "symbolize/util/intern.h"
#include "symbolize/util/text.h"

#define WORDS_MAX 256u   /* of the command */
#define SEARCHED_MAX 32u /* of these, looked for in the search path */
#define FILES_MAX 4096u  /* of code */
#define LINKS_MAX 40     /* of a path, as the kernel has it */
#define ANCHORS_MAX (2u * (WORDS_MAX + SEARCHED_MAX) + 1)

/* ---- a list ---- */

/* A list as it is read: that of a capture may be any text. */
struct list {
	const char *at, *end;
	uint32_t count;
};

static struct list begin_list(const char *links)
{
	return (struct list){links, links ? links + strnlen(links, PATH_LINKS_BYTES) : NULL, 0};
}

/* Reads one path of a list; false: it is cut. */
static bool next_path(struct list *list, const char **path, size_t *length)
{
	const char *end = memmem(list->at, (size_t)(list->end - list->at), "//", 2);

	if (!end)
		return false;
	*path = list->at;
	*length = (size_t)(end - list->at);
	list->at = end + 2;
	return true;
}

/* Steps through a list; false: no more. */
static bool next_link(struct list *list, const char **from, size_t *from_length, const char **to,
		      size_t *to_length)
{
	return list->at && list->count++ < PATH_LINKS_MAX && next_path(list, from, from_length) &&
	       next_path(list, to, to_length);
}

/* Returns whether a path is `folder`, or below it. */
static bool is_at(const char *path, const char *folder, size_t length)
{
	return strncmp(path, folder, length) == 0 && (path[length] == '/' || !path[length]);
}

char *path_links_follow(const char *links, const char *path)
{
	const char *from, *to, *best = NULL;
	size_t from_length, to_length, longest = 0, best_length = 0;
	struct list list = begin_list(links);
	char *followed = NULL;

	while (next_link(&list, &from, &from_length, &to, &to_length))
		if (from_length > longest && to[0] == '/' && is_at(path, from, from_length)) {
			longest = from_length;
			best = to;
			best_length = to_length;
		}
	if (best && asprintf(&followed, "%.*s%s", (int)best_length, best, path + longest) < 0)
		return NULL;
	return followed;
}

bool path_links_has_program(const char *links, const char *name, const char *path)
{
	const char *from, *to;
	size_t from_length, to_length, length = strlen(name);
	struct list list = begin_list(links);

	while (next_link(&list, &from, &from_length, &to, &to_length))
		if (from_length > length && from[from_length - length - 1] == '/' &&
		    strncmp(from + from_length - length, name, length) == 0 &&
		    strlen(path) == to_length && strncmp(path, to, to_length) == 0)
			return true;
	return false;
}

/* ---- on the thread of bounded calls ---- */

enum item_kind {
	ITEM_ANCHOR = 'a', /* the working directory */
	ITEM_WORD = 'w',
	ITEM_PROGRAM = 'p', /* may be what the command found under this path */
	ITEM_CODE = 'c',    /* a folder of code, or its file */
};

/* What is looked up, each with its kind before it and a NUL behind it, and what was found. */
struct look {
	struct bounded_job job;
	char *items, *links;
	size_t item_bytes, link_bytes;
	uint32_t link_count;
	const char **anchors; /* where the command leads, with and without links */
	char **owned;         /* those of them that were made */
	uint32_t anchor_count, owned_count;
	const char *searched; /* the last program that was found */
};

static void release(struct look *look)
{
	for (uint32_t i = 0; i < look->owned_count; i++)
		free(look->owned[i]);
	free(look->owned);
	free(look->anchors);
	free(look->items);
}

static void discard(struct bounded_job *opaque)
{
	struct look *look = (struct look *)opaque;

	release(look);
	free(look->links);
}

/* Adds what the command names: the folder of a file, or a folder. Takes `path`. */
static void add_anchor(struct look *look, char *path, bool is_folder)
{
	char *slash = path ? strrchr(path, '/') : NULL;

	if (!slash) {
		free(path);
		return;
	}
	if (!is_folder)
		*slash = '\0';
	look->owned[look->owned_count++] = path;
	if (path[0])
		look->anchors[look->anchor_count++] = path;
}

static bool is_named(const struct look *look, const char *path)
{
	for (uint32_t i = 0; i < look->anchor_count; i++)
		if (is_at(path, look->anchors[i], strlen(look->anchors[i])))
			return true;
	return false;
}

static void add_link(struct look *look, const char *from, size_t from_length, const char *to)
{
	char *path = strndup(from, from_length);
	char *known = path ? path_links_follow(look->links, path) : NULL;
	size_t bytes = from_length + strlen(to) + 4;

	if (path && (!known || strcmp(known, to) != 0) &&
	    look->link_bytes + bytes < PATH_LINKS_BYTES && look->link_count < PATH_LINKS_MAX) {
		look->link_bytes += (size_t)snprintf(look->links + look->link_bytes, bytes + 1,
						     "%s//%s//", path, to);
		look->link_count++;
	}
	free(known);
	free(path);
}

/*
 * Follows the first link of a path, beyond `*known` bytes of it, which then are where it leads to.
 * False: there is none. Paths have no "." and "..".
 */
static bool follow_one(char **path, size_t *known)
{
	size_t at = *known;

	while ((*path)[at]) {
		char *real, *longer = NULL, kept;
		struct stat st;
		bool is_link;

		at += 1 + strcspn(*path + at + 1, "/");
		kept = (*path)[at];
		(*path)[at] = '\0';
		is_link = lstat(*path, &st) == 0 && S_ISLNK(st.st_mode);
		real = is_link ? realpath(*path, NULL) : NULL;
		(*path)[at] = kept;
		if (!is_link)
			continue;
		if (real && strcmp(real, "/") != 0 &&
		    asprintf(&longer, "%s%s", real, *path + at) >= 0) {
			*known = strlen(real);
			free(*path);
			*path = longer;
		}
		free(real);
		return longer;
	}
	return false;
}

/*
 * Keeps where a path leads to: of the user's words to the end, of code up to the first place that
 * is named. Returns the end; NULL: the path has no links, or nothing of it is kept.
 */
static char *follow_path(struct look *look, const char *path, bool is_word)
{
	char *at = strdup(path);
	size_t length = strlen(path), known = 0, rest = length;
	bool is_kept = false;

	for (int i = 0; at && i < LINKS_MAX && follow_one(&at, &known); i++) {
		rest = strlen(at) - known;
		is_kept |= is_word;
		if (!is_word && is_named(look, at)) {
			is_kept = true;
			break;
		}
	}
	if (is_kept) {
		char *to = strndup(at, known);

		if (to)
			add_link(look, path, length - rest, to);
		free(to);
		return at;
	}
	free(at);
	return NULL;
}

/* Looks up a word as the kernel does it, and keeps it as the text that it is compared as. */
static void look_up_word(struct look *look, const char *path, bool is_program)
{
	char *plain, *end, *real;
	struct stat st;
	bool is_folder;

	/* the first that is there is the program */
	if ((is_program && look->searched && strcmp(look->searched, base_name(path)) == 0) ||
	    stat(path, &st) != 0)
		return;
	is_folder = S_ISDIR(st.st_mode);
	plain = is_program && is_folder ? NULL : plain_path(NULL, path);
	if (!plain)
		return;
	if (is_program)
		look->searched = base_name(path);
	end = follow_path(look, plain, true);
	/* the kernel goes up from where a link leads to: "link/../x.py" */
	real = realpath(path, NULL);
	if (real && strcmp(real, end ? end : plain) != 0)
		add_link(look, plain, strlen(plain), real);
	free(end);
	add_anchor(look, real, is_folder);
	add_anchor(look, plain, is_folder);
}

static void run_look(struct bounded_job *opaque)
{
	struct look *look = (struct look *)opaque;
	size_t at, next;

	look->links = calloc(1, PATH_LINKS_BYTES);
	look->anchors = calloc(ANCHORS_MAX, sizeof(*look->anchors));
	look->owned = calloc(ANCHORS_MAX, sizeof(*look->owned));
	if (!look->links || !look->anchors || !look->owned || !bounded_drop_capabilities())
		return;
	/* words come first: code is kept by where they lead */
	for (at = 0; at < look->item_bytes; at = next) {
		const char *path = look->items + at + 1;

		next = at + strlen(look->items + at) + 1;
		if (look->items[at] == ITEM_ANCHOR)
			look->anchors[look->anchor_count++] = path;
		else if (look->items[at] == ITEM_CODE)
			free(follow_path(look, path, false));
		else
			look_up_word(look, path, look->items[at] == ITEM_PROGRAM);
	}
}

/* ---- what is looked up ---- */

struct items {
	FILE *out;
	const char *folder, *search_path;
	uint32_t words, searched, files;
	struct intern seen; /* files of code */
};

static void put_item(struct items *items, enum item_kind kind, const char *path, size_t length)
{
	fputc((int)kind, items->out);
	fwrite(path, 1, length, items->out);
	fputc('\0', items->out);
}

/* Puts the paths under which a program may have been found. */
static void put_searched(struct items *items, const char *name)
{
	const char *at = items->search_path;

	if (!at || items->searched++ >= SEARCHED_MAX)
		return;
	for (size_t length; *at; at += length + (at[length] == ':')) {
		length = strcspn(at, ":");
		if (at[0] != '/')
			continue;
		fputc(ITEM_PROGRAM, items->out);
		fwrite(at, 1, length, items->out);
		fprintf(items->out, "/%s%c", name, '\0');
	}
}

static void put_word(struct items *items, const char *word)
{
	if (!word[0] || word[0] == '-' || strlen(word) >= PATH_MAX || items->words++ >= WORDS_MAX)
		return;
	if (!strchr(word, '/'))
		put_searched(items, word);
	if (word[0] == '/')
		put_item(items, ITEM_WORD, word, strlen(word));
	else if (items->folder)
		fprintf(items->out, "%c%s/%s%c", ITEM_WORD, items->folder, word, '\0');
}

static void put_command(struct items *items, const char *command)
{
	char **words = command_words(command), **inner;

	for (uint32_t i = 0; words && words[i]; i++) {
		put_word(items, words[i]);
		inner = strchr(words[i], ' ') ? command_words(words[i]) : NULL;
		for (uint32_t k = 0; inner && inner[k]; k++)
			put_word(items, inner[k]);
		free(inner);
	}
	free(words);
}

/* Puts the folder of a file, and the file itself, which may be a link. */
static void put_file(struct items *items, const char *path)
{
	char *plain = plain_path(items->folder, path);
	uint32_t before = items->seen.count;

	if (plain && plain[0] && items->files < FILES_MAX && intern_string(&items->seen, plain) &&
	    items->seen.count > before) {
		items->files++;
		put_item(items, ITEM_CODE, plain, (size_t)(base_name(plain) - plain) - 1);
		put_item(items, ITEM_CODE, plain, strlen(plain));
	}
	free(plain);
}

static void put_code(struct items *items, const struct result *r)
{
	/* the last ones: most frames repeat them */
	const char *file = NULL, *module = NULL, *source = NULL;

	for (uint32_t i = 0; i < r->frame_count; i++) {
		const struct frame_info *f = &r->frames[i];

		if (f->class == CLASS_PYTHON && f->file && f->file != file && f->file[0] != '<')
			put_file(items, file = f->file);
		else if (f->class == CLASS_NATIVE && f->module && f->module != module &&
			 f->module[0] == '/')
			put_file(items, module = f->module);
		if (f->class == CLASS_NATIVE && f->source && f->source != source &&
		    f->source[0] == '/')
			put_file(items, source = f->source);
	}
}

/* False: out of memory. */
static bool put_items(const struct result *r, const char *search_path, struct look *look)
{
	struct items items = {.folder = r->totals.folder, .search_path = search_path};

	items.out = open_memstream(&look->items, &look->item_bytes);
	if (!items.out)
		return false;
	if (items.folder && items.folder[0] == '/' && items.folder[1])
		put_item(&items, ITEM_ANCHOR, items.folder, strlen(items.folder));
	if (r->totals.command)
		put_command(&items, r->totals.command);
	put_code(&items, r);
	intern_release(&items.seen);
	if (fclose(items.out) == 0)
		return true;
	free(look->items);
	return false;
}

/* Runs the job, and takes it. */
static char *run(struct bounded_caller *calls, struct look *look)
{
	char *links;

	if (bounded_call(calls, &look->job, BOUNDED_CALL_OPEN_MS) != 0)
		return NULL; /* the job is no longer ours */
	table_quota_settle(bounded_caller_budget(calls), &look->job.share, false);
	links = look->links;
	release(look);
	free(look);
	if (links && links[0])
		return links;
	free(links);
	return NULL;
}

char *path_links_find(const struct result *result, const char *search_path)
{
	struct look *look = bounded_job_new(sizeof(*look), run_look, discard);
	struct bounded_caller *calls = bounded_caller_new(BOUNDED_CALL_OPEN_MS);
	char *links = NULL;

	if (look && calls && put_items(result, search_path, look))
		links = run(calls, look);
	else
		free(look);
	bounded_caller_free(calls);
	return links;
}
