/* SPDX-License-Identifier: MIT */
#include "symbolize/inline_names.h"

#include <stdlib.h>
#include <string.h>

#include "symbolize/util/array.h"

#define PLACES_AT_ONCE 4096 /* per call, which has a deadline */

struct inline_list {
	struct code_ref ref;
	uint32_t first, count; /* in inline_names.names */
};

void inline_names_release(struct inline_names *inlines)
{
	free(inlines->lists);
	hash_index_release(&inlines->index);
	free(inlines->names);
	*inlines = (struct inline_names){0};
}

static bool is_ref(const void *records, uint32_t position, const void *key)
{
	const struct inline_list *lists = records;

	return memcmp(&lists[position].ref, key, sizeof(struct code_ref)) == 0;
}

static const struct inline_list *find_list(const struct inline_names *inlines, struct code_ref ref)
{
	uint32_t found = hash_index_find(&inlines->index, hash_bytes(&ref, sizeof(ref)), is_ref,
					 inlines->lists, &ref);

	return found == HASH_INDEX_NONE ? NULL : &inlines->lists[found];
}

/* Adds demangled names; leaves out what does not fit. */
static uint32_t add_names(struct inline_names *inlines, const struct inline_tools *tools,
			  uint32_t module, char *const *raw, uint32_t count)
{
	const char *file = modules_path(tools->modules, module);
	uint32_t added = 0;

	if (inlines->name_count + count > NAMES_MAX_INLINED ||
	    !array_reserve(&inlines->names, inlines->name_count, count, &inlines->name_capacity,
			   sizeof(*inlines->names)))
		return 0;
	for (uint32_t i = 0; i < count; i++) {
		char *name = raw[i] ? demangle_in(tools->demangler, raw[i], DEMANGLE_FUNCTION, file)
				    : NULL;
		const char *interned = name ? intern_string(tools->strings, name) : NULL;

		free(name);
		if (interned)
			inlines->names[inlines->name_count + added++] = interned;
	}
	return added;
}

/* Best effort: without memory the place has no inlined functions. */
static void add_list(struct inline_names *inlines, const struct inline_tools *tools,
		     struct code_ref ref, char *const *raw, uint32_t count)
{
	struct inline_list list = {.ref = ref, .first = inlines->name_count};

	if (!array_make_room(&inlines->lists, inlines->count, &inlines->capacity,
			     sizeof(*inlines->lists)) ||
	    hash_index_add(&inlines->index, hash_bytes(&ref, sizeof(ref)), inlines->count) != 0)
		return;
	list.count = add_names(inlines, tools, ref.module, raw, count);
	inlines->name_count += list.count;
	inlines->lists[inlines->count++] = list;
}

/* Looks up a batch of places in the DWARF. */
static void add_batch(struct inline_names *inlines, const struct inline_tools *tools,
		      const struct code_ref *refs, uint32_t count)
{
	struct module_files *files = &tools->modules->files;
	uint64_t addresses[PLACES_AT_ONCE];
	struct inlined_names found = {0};
	struct module_file *file;
	uint32_t first = 0;
	bool is_known;

	/* In this order: loading the symbols closes the file. */
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
		uint32_t names = is_known ? found.counts[i] : 0;

		add_list(inlines, tools, refs[i], names ? found.names + first : NULL, names);
		first += names;
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
			   struct code_ref ref, const char *const **names)
{
	const struct inline_list *list = find_list(inlines, ref);

	if (!list && modules_get(tools->modules, ref.module)) {
		inline_names_add(inlines, tools, &ref, 1);
		list = find_list(inlines, ref);
	}
	if (!list)
		return 0;
	*names = inlines->names + list->first;
	return list->count;
}
