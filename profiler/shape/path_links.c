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

#define WORDS_MAX 256u   /* words of the command */
#define SEARCHED_MAX 32u /* words looked for in the search path */
#define FILES_MAX 4096u  /* files of code */
#define LINKS_MAX 40     /* links followed per path, as in the kernel */
#define ANCHORS_MAX (2u * (WORDS_MAX + SEARCHED_MAX) + 1)

/* ---- a list ---- */

/* The reading position in a list. The list of a capture may be any text. */
struct list {
	const char *at, *end;
	uint32_t count;
};

static struct list begin_list(const char *links)
{
	return (struct list){links, links ? links + strnlen(links, PATH_LINKS_BYTES) : NULL, 0};
}

/* Reads one path of a list. Returns false at the end, and if the path is cut. */
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

/* Reads the next entry of a list. Returns false if there is none. */
static bool next_link(struct list *list, const char **from, size_t *from_length, const char **to,
		      size_t *to_length)
{
	return list->at && list->count++ < PATH_LINKS_MAX && next_path(list, from, from_length) &&
	       next_path(list, to, to_length);
}

/* Returns true if a path is `folder`, or below `folder`. */
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

/* ---- looking up, on the thread of bounded calls ---- */

enum item_kind {
	ITEM_ANCHOR = 'a', /* the working directory */
	ITEM_WORD = 'w',
	ITEM_PROGRAM = 'p', /* a place in the search path where the program may be */
	ITEM_CODE = 'c',    /* a folder of code, or its file */
};

/* Paths to look up, each after its kind and with a NUL behind it, and the links found. */
struct lookup {
	struct bounded_job job;
	char *items, *links;
	size_t item_bytes, link_bytes;
	uint32_t link_count;
	const char **anchors; /* folders that the command names, as given and with links followed */
	char **owned;         /* anchors to be freed */
	uint32_t anchor_count, owned_count;
	const char *searched; /* the last program found */
};

static void release(struct lookup *lookup)
{
	for (uint32_t i = 0; i < lookup->owned_count; i++)
		free(lookup->owned[i]);
	free(lookup->owned);
	free(lookup->anchors);
	free(lookup->items);
}

static void discard(struct bounded_job *opaque)
{
	struct lookup *lookup = (struct lookup *)opaque;

	release(lookup);
	free(lookup->links);
}

/* Adds a folder that the command names, or the folder of a file that it names. Takes `path`. */
static void add_anchor(struct lookup *lookup, char *path, bool is_folder)
{
	char *slash = path ? strrchr(path, '/') : NULL;

	if (!slash) {
		free(path);
		return;
	}
	if (!is_folder)
		*slash = '\0';
	lookup->owned[lookup->owned_count++] = path;
	if (path[0])
		lookup->anchors[lookup->anchor_count++] = path;
}

static bool is_named(const struct lookup *lookup, const char *path)
{
	for (uint32_t i = 0; i < lookup->anchor_count; i++)
		if (is_at(path, lookup->anchors[i], strlen(lookup->anchors[i])))
			return true;
	return false;
}

static void add_link(struct lookup *lookup, const char *from, size_t from_length, const char *to)
{
	char *path = strndup(from, from_length);
	char *known = path ? path_links_follow(lookup->links, path) : NULL;
	size_t bytes = from_length + strlen(to) + 4;

	if (path && (!known || strcmp(known, to) != 0) &&
	    lookup->link_bytes + bytes < PATH_LINKS_BYTES && lookup->link_count < PATH_LINKS_MAX) {
		lookup->link_bytes += (size_t)snprintf(lookup->links + lookup->link_bytes,
						       bytes + 1, "%s//%s//", path, to);
		lookup->link_count++;
	}
	free(known);
	free(path);
}

/*
 * Replaces the first link in a path, beyond its first `*known` bytes, by its target. Then `*known`
 * is the length of the target. Returns false if there is no link. Paths have no "." and "..".
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
 * Follows a path's links: for a word, all of them; for code, up to the first path below an anchor.
 * Adds the link and returns the path that was reached. Returns NULL if nothing is added.
 */
static char *follow_path(struct lookup *lookup, const char *path, bool is_word)
{
	char *at = strdup(path);
	size_t length = strlen(path), known = 0, rest = length;
	bool is_kept = false;

	for (int i = 0; at && i < LINKS_MAX && follow_one(&at, &known); i++) {
		rest = strlen(at) - known;
		is_kept |= is_word;
		if (!is_word && is_named(lookup, at)) {
			is_kept = true;
			break;
		}
	}
	if (is_kept) {
		char *to = strndup(at, known);

		if (to)
			add_link(lookup, path, length - rest, to);
		free(to);
		return at;
	}
	free(at);
	return NULL;
}

/* Looks up a word as the kernel does, and keeps it as the plain path that code is compared with. */
static void look_up_word(struct lookup *lookup, const char *path, bool is_program)
{
	char *plain, *end, *real;
	struct stat st;
	bool is_folder;

	/* the first place with the program counts */
	if ((is_program && lookup->searched && strcmp(lookup->searched, base_name(path)) == 0) ||
	    stat(path, &st) != 0)
		return;
	is_folder = S_ISDIR(st.st_mode);
	plain = is_program && is_folder ? NULL : plain_path(NULL, path);
	if (!plain)
		return;
	if (is_program)
		lookup->searched = base_name(path);
	end = follow_path(lookup, plain, true);
	/* the kernel goes up from where a link leads to: "link/../x.py" */
	real = realpath(path, NULL);
	if (real && strcmp(real, end ? end : plain) != 0)
		add_link(lookup, plain, strlen(plain), real);
	free(end);
	add_anchor(lookup, real, is_folder);
	add_anchor(lookup, plain, is_folder);
}

static void run_lookup(struct bounded_job *opaque)
{
	struct lookup *lookup = (struct lookup *)opaque;
	size_t at, next;

	lookup->links = calloc(1, PATH_LINKS_BYTES);
	lookup->anchors = calloc(ANCHORS_MAX, sizeof(*lookup->anchors));
	lookup->owned = calloc(ANCHORS_MAX, sizeof(*lookup->owned));
	if (!lookup->links || !lookup->anchors || !lookup->owned || !bounded_drop_capabilities())
		return;
	/* words come first: their anchors decide which links of code are kept */
	for (at = 0; at < lookup->item_bytes; at = next) {
		const char *path = lookup->items + at + 1;

		next = at + strlen(lookup->items + at) + 1;
		if (lookup->items[at] == ITEM_ANCHOR)
			lookup->anchors[lookup->anchor_count++] = path;
		else if (lookup->items[at] == ITEM_CODE)
			free(follow_path(lookup, path, false));
		else
			look_up_word(lookup, path, lookup->items[at] == ITEM_PROGRAM);
	}
}

/* ---- paths to look up ---- */

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

/* Puts the places in the search path where a program may be. */
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
	/* texts of the frame before: most frames repeat them */
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

/* Returns false if out of memory. */
static bool put_items(const struct result *r, const char *search_path, struct lookup *lookup)
{
	struct items items = {.folder = r->totals.folder, .search_path = search_path};

	items.out = open_memstream(&lookup->items, &lookup->item_bytes);
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
	free(lookup->items);
	return false;
}

/* Runs the job, and frees it. */
static char *run(struct bounded_caller *calls, struct lookup *lookup)
{
	char *links;

	if (bounded_call(calls, &lookup->job, BOUNDED_CALL_OPEN_MS) != 0)
		return NULL; /* the job belongs to the caller's thread */
	table_quota_settle(bounded_caller_budget(calls), &lookup->job.share, false);
	links = lookup->links;
	release(lookup);
	free(lookup);
	if (links && links[0])
		return links;
	free(links);
	return NULL;
}

char *path_links_find(const struct result *result, const char *search_path)
{
	struct lookup *lookup = bounded_job_new(sizeof(*lookup), run_lookup, discard);
	struct bounded_caller *calls = bounded_caller_new(BOUNDED_CALL_OPEN_MS);
	char *links = NULL;

	if (lookup && calls && put_items(result, search_path, lookup))
		links = run(calls, lookup);
	else
		free(lookup);
	bounded_caller_free(calls);
	return links;
}
