/* SPDX-License-Identifier: MIT */
#include "symbolize/inline_names.h"

#include <stdlib.h>
#include <string.h>

#include "symbolize/util/array.h"

#define PLACES_AT_ONCE 4096 /* places per call, which has a timeout */

struct inline_list {
	struct code_ref ref;
	uint32_t first, count; /* entries in inline_names.names, with the one before; 0: unknown */
};

void inline_names_release(struct inline_names *inlines)
{
	record_set_release(&inlines->lists.set);
	free(inlines->names);
	free(inlines->sources);
	*inlines = (struct inline_names){0};
}

static const struct inline_list *find_list(const struct inline_names *inlines, struct code_ref ref)
{
	uint32_t found = record_find(&inlines->lists, &ref);

	return found == RECORD_NONE ? NULL : &inlines->lists.list[found];
}

static bool make_room(struct inline_names *inlines, uint32_t count)
{
	return inlines->name_count + count <= NAMES_MAX_INLINED &&
	       array_reserve(&inlines->names, inlines->name_count, count, &inlines->name_capacity,
			     sizeof(*inlines->names)) &&
	       array_reserve(&inlines->sources, inlines->name_count, count,
			     &inlines->source_capacity, sizeof(*inlines->sources));
}

/* Result of one place. */
struct place_result {
	char *const *names;
	const char *const
		*sources; /* one more than names: first that of the function around them */
	uint32_t count, source_count;
};

static const char *keep_source(const struct inline_tools *tools, const struct place_result *result,
			       uint32_t at)
{
	return at < result->source_count && result->sources[at]
		       ? intern_string(tools->strings, result->sources[at])
		       : NULL;
}

/* Adds demangled names, behind an entry without a name. Omits names that do not fit. */
static uint32_t add_names(struct inline_names *inlines, const struct inline_tools *tools,
			  uint32_t module, const struct place_result *result)
{
	const char *file = modules_path(tools->modules, module);
	uint32_t first = inlines->name_count, added = 1;

	inlines->names[first] = NULL;
	inlines->sources[first] = keep_source(tools, result, 0);
	for (uint32_t i = 0; i < result->count; i++) {
		const char *raw = result->names[i];
		char *name =
			raw ? demangle_in(tools->demangler, raw, DEMANGLE_FUNCTION, file) : NULL;
		const char *interned = name ? intern_string(tools->strings, name) : NULL;

		free(name);
		if (!interned)
			continue;
		inlines->names[first + added] = interned;
		inlines->sources[first + added] = keep_source(tools, result, i + 1);
		added++;
	}
	return added;
}

/* Adds the list of a place, without inlined functions if there is no memory. */
static void add_list(struct inline_names *inlines, const struct inline_tools *tools,
		     struct code_ref ref, const struct place_result *result)
{
	const struct inline_list list = {.ref = ref, .first = inlines->name_count};
	uint32_t at;

	at = record_add(&inlines->lists, &ref, &list);
	if (at == RECORD_NONE)
		return;
	if ((result->count || (result->source_count && result->sources[0])) &&
	    make_room(inlines, result->count + 1)) {
		inlines->lists.list[at].count = add_names(inlines, tools, ref.module, result);
		inlines->name_count += inlines->lists.list[at].count;
	}
}

/* Looks up a batch of places in the DWARF. */
static void add_batch(struct inline_names *inlines, const struct inline_tools *tools,
		      const struct code_ref *refs, uint32_t count)
{
	struct module_files *files = &tools->modules->files;
	uint64_t addresses[PLACES_AT_ONCE];
	struct inlined_names found = {0};
	struct module_file *file;
	uint32_t first = 0, source = 0;
	bool is_known;

	/* DWARF first: loading the symbols closes the file. */
	file = modules_load(tools->modules, refs[0].module, TABLE_DWARF);
	if (file && file->dwarf)
		file = modules_load(tools->modules, refs[0].module, TABLE_SYMS);
	for (uint32_t i = 0; file && file->syms && i < count; i++)
		if (!elf_syms_address(file->syms, refs[i].offset, &addresses[i]))
			addresses[i] = 0;
	is_known = file && file->dwarf && file->syms &&
		   module_file_find_inlined(files, file, addresses, count, &found);
	if (file)
		modules_note_unread(tools->modules, refs[0].module, file);
	for (uint32_t i = 0; i < count; i++) {
		struct place_result result = {NULL, NULL, 0, 0};

		if (is_known)
			result.count = found.counts[i];
		if (result.count)
			result.names = found.names + first;
		/* sources are incomplete if memory ran out */
		if (is_known && source < found.source_count) {
			result.sources = found.sources + source;
			result.source_count = found.source_count - source;
		}
		add_list(inlines, tools, refs[i], &result);
		first += result.count;
		source += result.count + 1;
	}
	inlined_names_release(&found);
}

void inline_names_add(struct inline_names *inlines, const struct inline_tools *tools,
		      const struct code_ref *refs, uint32_t count)
{
	for (uint32_t i = 0; i < count; i += PLACES_AT_ONCE)
		add_batch(inlines, tools, refs + i,
			  count - i < PLACES_AT_ONCE ? count - i : PLACES_AT_ONCE);
}

uint32_t inline_names_find(struct inline_names *inlines, const struct inline_tools *tools,
			   struct code_ref ref, const char *const **names,
			   const char *const **sources)
{
	const struct inline_list *list = find_list(inlines, ref);

	if (!list && modules_get(tools->modules, ref.module)) {
		inline_names_add(inlines, tools, &ref, 1);
		list = find_list(inlines, ref);
	}
	*sources = NULL;
	if (!list || !list->count)
		return 0;
	*names = inlines->names + list->first + 1;
	*sources = inlines->sources + list->first;
	return list->count - 1;
}
