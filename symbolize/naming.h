/* SPDX-License-Identifier: MIT */
/*
 * Places in code (code_ref) -> functions' names, each found once.
 *
 * The part of the symbolizer that needs no address spaces: it reads modules' files, the kernel's
 * symbols, the vDSO and perf maps when a name in them is first asked for, within the run's budget
 * (budget.h). Not for use elsewhere; symbolizer.h says what names are like.
 */
#ifndef SYMBOLIZE_NAMING_H
#define SYMBOLIZE_NAMING_H

#include <stdbool.h>
#include <stdint.h>
#include "symbolize/demangle.h"
#include "symbolize/hash_index.h"
#include "symbolize/inline_names.h"
#include "symbolize/intern.h"
#include "symbolize/modules.h"
#include "symbolize/symbolizer.h"

struct named_ref;
struct jit;

struct naming {
	struct modules *modules; /* borrowed */
	struct demangler *demangler;
	struct intern names;
	struct inline_names inlines;
	const char *chain[DWARF_MAX_DEPTH]; /* the last answer of name_place_inlined */
	uint64_t named, unnamed; /* distinct places, and those of them without a symbol */

	struct named_ref *refs; /* what has been named, or is wanted */
	uint32_t ref_count, ref_capacity;
	struct hash_index ref_index;

	struct jit *jits; /* perf maps, by the process's id */
	uint32_t jit_count, jit_capacity;
	struct hash_index jit_index;

	int kallsyms; /* open /proc/kallsyms, or -1 */
	/* Loaded when first needed; NULL also when that failed. */
	bool tried_ksyms, tried_vdso;
	struct ksyms *ksyms;
	struct elf_syms *vdso;
};

/* 0 or -ENOMEM. Either way naming_release frees it. */
int naming_init(struct naming *n, struct modules *modules);
void naming_release(struct naming *n);

/* Takes a descriptor of /proc/kallsyms; -1: it is opened when it is needed. */
void naming_set_kallsyms(struct naming *n, int fd);

/*
 * Code of this process, whose own number is `id`, has been located: its names may be looked up when
 * the process has ended.
 */
void naming_note_process(struct naming *n, uint32_t id, pid_t pid);

/* The name of the function that holds the byte `ref`: as symbolizer_name. */
const char *name_place(struct naming *n, struct code_ref ref);

/* The same with what is inlined there: as symbolizer_names. */
uint32_t name_place_inlined(struct naming *n, struct code_ref ref, const char *const **names);

/* Notes a place to be named by name_wanted(). */
void want_name(struct naming *n, struct code_ref ref);

/* Names all places that are wanted, file after file, and frees each file's tables after it. */
void name_wanted(struct naming *n, bool with_inlined);

#endif
