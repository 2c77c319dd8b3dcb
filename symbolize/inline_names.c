/* SPDX-License-Identifier: MIT */
#include "symbolize/inline_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbolize/demangle.h"
#include "symbolize/dwarf.h"

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

/* Room for `more` beyond `count` elements: 0 or -ENOMEM. */
static int reserve(void **list, uint32_t *capacity, uint32_t count, uint32_t more, size_t element)
{
	uint32_t wanted = *capacity ? *capacity : 256;
	void *bigger;

	if (more <= *capacity - count)
		return 0;
	while (wanted - count < more) {
		if (wanted > UINT32_MAX / 4)
			return -ENOMEM;
		wanted *= 2;
	}
	bigger = realloc(*list, wanted * element);
	if (!bigger)
		return -ENOMEM;
	*list = bigger;
	*capacity = wanted;
	return 0;
}

/* Reads the names at `ref` behind those there are; returns how many. */
static uint32_t add_names(struct inline_names *inlines, struct modules *modules,
			  struct intern *strings, struct code_ref ref)
{
	struct module *module = modules_get(modules, ref.module);
	const char *raw[DWARF_MAX_DEPTH];
	uint32_t count = 0;
	uint64_t address;
	size_t found;

	if (!module)
		return 0;
	modules_load_dwarf(modules, module);
	if (!module->dwarf)
		return 0;
	modules_load(modules, module);
	if (!module->syms || !elf_syms_address(module->syms, ref.offset, &address))
		return 0;
	found = dwarf_find(module->dwarf, address, raw);
	for (size_t i = 1; i < found; i++) {
		char *name = raw[i] ? demangle(raw[i], DEMANGLE_FUNCTION) : NULL;
		const char *interned = name ? intern_string(strings, name) : NULL;

		free(name);
		if (interned)
			inlines->names[inlines->name_count + count++] = interned;
	}
	return count;
}

uint32_t inline_names_find(struct inline_names *inlines, struct modules *modules,
			   struct intern *strings, struct code_ref ref, const char *const **names)
{
	uint32_t hash = hash_bytes(&ref, sizeof(ref));
	uint32_t found = hash_index_find(&inlines->index, hash, is_ref, inlines->lists, &ref);
	struct inline_list list = {.ref = ref, .first = inlines->name_count};

	if (found != HASH_INDEX_NONE) {
		list = inlines->lists[found];
		*names = inlines->names + list.first;
		return list.count;
	}
	if (reserve((void **)&inlines->names, &inlines->name_capacity, inlines->name_count,
		    DWARF_MAX_DEPTH, sizeof(*inlines->names)) != 0)
		return 0;
	list.count = add_names(inlines, modules, strings, ref);
	*names = inlines->names + list.first;
	/* Not remembered without memory: then the names' place is used again by the next. */
	if (reserve((void **)&inlines->lists, &inlines->capacity, inlines->count, 1,
		    sizeof(*inlines->lists)) == 0 &&
	    hash_index_add(&inlines->index, hash, inlines->count) == 0) {
		inlines->lists[inlines->count++] = list;
		inlines->name_count += list.count;
	}
	return list.count;
}
