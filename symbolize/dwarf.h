/* SPDX-License-Identifier: MIT */
/*
 * Finds the function at an address and the functions inlined there, by DWARF.
 *
 * Uses libdw to read .debug_info of the file, else of its separate debug file (debug_file.h): the
 * entries DW_TAG_inlined_subroutine that contain the address, inside their DW_TAG_subprogram. A
 * name is the linkage name, else DW_AT_name, along DW_AT_abstract_origin and DW_AT_specification.
 */
#ifndef SYMBOLIZE_DWARF_H
#define SYMBOLIZE_DWARF_H

#include <stddef.h>
#include <stdint.h>
#include "symbolize/debug_file.h"
#include "symbolize/util/table_quota.h"

struct dwarf;

/*
 * Loads the index of the file open as `fd`, which is not needed afterwards. `search` and `share`
 * are as for elf_syms_load. Returns 0; -ENOENT: no DWARF; -ENOEXEC: not an ELF program or library,
 * or unreadable DWARF; -ENOSPC: share exceeded; -ENOMEM; -errno. The caller frees the result, which
 * has no function if all DWARF is dwarf_unread.
 */
int dwarf_load(int fd, struct debug_file_search *search, struct quota_share *share,
	       struct dwarf **dwarf);

/*
 * Finds the names of the function at `address` (in the ELF file) and of the functions inlined
 * there, outermost first. Returns their number; 0 if the DWARF does not cover the address. An entry
 * without a name is NULL. Names live as long as `dwarf`. Takes memory from `share` at the first
 * lookup in a unit.
 */
size_t dwarf_find(struct dwarf *dwarf, struct quota_share *share, uint64_t address,
		  const char *names[DWARF_MAX_DEPTH]);

/*
 * Source file of a function, as the compiler was told: each part is relative to the one before
 * unless absolute. NULL: unknown.
 */
struct source_place {
	const char *compiled_in, *folder, *name;
};

/*
 * Finds the source files of the functions at an address that dwarf_find has looked up, in its
 * order. Texts live as long as `dwarf`.
 */
size_t dwarf_find_sources(struct dwarf *dwarf, uint64_t address,
			  struct source_place sources[DWARF_MAX_DEPTH]);

/* Kinds of DWARF that are not read. */
enum dwarf_unread {
	DWARF_UNREAD_NOTHING,
	DWARF_UNREAD_SPLIT,      /* DWARF in .dwo files or a .dwp file (-gsplit-dwarf) */
	DWARF_UNREAD_COMMON,     /* names in a file that dwz made for several programs */
	DWARF_UNREAD_COMPRESSED, /* compression that libdw does not know here (zstd) */
};

/* Returns the first kind met, by loading or a lookup. */
enum dwarf_unread dwarf_unread(const struct dwarf *dwarf);

void dwarf_free(struct dwarf *dwarf);

#endif
