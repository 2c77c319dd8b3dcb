/* SPDX-License-Identifier: MIT */
/*
 * Finds names of inlined functions by code location, demangled, and the files that define them.
 *
 * Results are kept. The DWARF of a module (dwarf.h) is loaded at the first lookup in it; without
 * lookups libdw opens no file. Zero-initialised is empty. Not thread-safe.
 */
#ifndef SYMBOLIZE_INLINE_NAMES_H
#define SYMBOLIZE_INLINE_NAMES_H

#include <stdbool.h>
#include <stdint.h>
#include "symbolize/code_ref.h"
#include "symbolize/demangle.h"
#include "symbolize/modules.h"
#include "symbolize/util/record_set.h"
#include "symbolize/util/intern.h"

struct inline_list; /* functions inlined at one place */

struct inline_names {
	RECORD_SET(struct inline_list) lists;
	/*
	 * names and files of all lists, each behind an entry without a name: that of the function
	 * around them
	 */
	const char **names, **sources;
	uint32_t name_count, name_capacity, source_capacity;
};

/* Tools for making names; borrowed. */
struct inline_tools {
	struct modules *modules;
	struct demangler *demangler;
	struct intern *strings;
};

/*
 * Reads the names of places in one module's file, preferably in order of offset, for later calls of
 * inline_names_find.
 */
void inline_names_add(struct inline_names *inlines, const struct inline_tools *tools,
		      const struct code_ref *refs, uint32_t count);

/*
 * Finds the functions inlined at the byte `ref`, outermost first, without the function around them.
 * Returns their number. `*names` are interned, and valid until the next call. `*sources` has the
 * file of the function around them, then theirs (inlined_names in module_files.h); NULL: unknown.
 * `*sources` itself is NULL if all are unknown.
 */
uint32_t inline_names_find(struct inline_names *inlines, const struct inline_tools *tools,
			   struct code_ref ref, const char *const **names,
			   const char *const **sources);

void inline_names_release(struct inline_names *inlines);

#endif
