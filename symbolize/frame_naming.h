/* SPDX-License-Identifier: MIT */
/*
 * Names code locations (code_ref), each once.
 *
 * This part of the symbolizer needs no address spaces. It reads modules' files, the kernel's
 * symbols, the vDSO and the output of JIT compilers. Each is read at the first lookup there, within
 * the run's quota (table_quota.h). Internal; symbolizer.h describes the names.
 */
#ifndef SYMBOLIZE_FRAME_NAMING_H
#define SYMBOLIZE_FRAME_NAMING_H

#include <stdbool.h>
#include <stdint.h>
#include "symbolize/code_ref.h"
#include "symbolize/demangle.h"
#include "symbolize/inline_names.h"
#include "symbolize/jit_code.h"
#include "symbolize/modules.h"
#include "symbolize/util/record_set.h"
#include "symbolize/util/intern.h"

struct named_ref;

struct naming {
	struct modules *modules; /* borrowed */
	struct demangler *demangler;
	struct intern names;
	struct inline_names inlines;
	/* last result of name_place_inlined */
	const char *chain[DWARF_MAX_DEPTH], *sources[DWARF_MAX_DEPTH];

	RECORD_SET(struct named_ref) refs; /* places named or wanted */

	struct jit_code jits;

	/* a symbolizer_kernel_name; NULL: /proc/kallsyms has the names */
	int (*kernel_name)(void *context, uint64_t address, char *name, size_t size);
	void *kernel_context;
	int kallsyms; /* open /proc/kallsyms, or -1 */
	/* Loaded on first use; NULL also after a failure. */
	bool tried_ksyms, tried_vdso;
	struct ksyms *ksyms;
	struct elf_syms *vdso;
};

/* Initialises the naming. Returns 0 or -ENOMEM; naming_release frees it either way. */
int naming_init(struct naming *n, struct modules *modules);
void naming_release(struct naming *n);

/* Takes a descriptor of /proc/kallsyms; -1: the file is opened on first use. */
void naming_set_kallsyms(struct naming *n, int fd);

/* Returns the name of the function that contains the byte `ref`, as symbolizer_name does. */
const char *name_place(struct naming *n, struct code_ref ref);

/*
 * Finds the names with inlined functions, and their files, as symbolizer_names and
 * symbolizer_sources do.
 */
uint32_t name_place_inlined(struct naming *n, struct code_ref ref, const char *const **names);

/* Marks a place for name_wanted(). */
void want_name(struct naming *n, struct code_ref ref);

/* Names all wanted places, file by file, and frees each file's tables afterwards. */
void name_wanted(struct naming *n, bool with_inlined);

#endif
