/* SPDX-License-Identifier: MIT */
/*
 * Inlined functions: address -> the function and the functions inlined there.
 *
 * Uses libdw to read .debug_info of the file, else of its separate debug file (debug_file.h): the
 * DW_TAG_inlined_subroutine entries that contain the address, inside their DW_TAG_subprogram. A
 * name is the linkage name, else DW_AT_name, along DW_AT_abstract_origin and DW_AT_specification.
 * DWARF
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
 * are as for elf_syms_load. 0; -ENOENT: no DWARF; -ENOEXEC: not an ELF program or library, or
 * unreadable DWARF; -ENOSPC: share exceeded; -ENOMEM; -errno. The caller frees it. Without any
 * function where all of it is dwarf_unread.
 */
int dwarf_load(int fd, struct debug_file_search *search, struct quota_share *share,
	       struct dwarf **dwarf);

/*
 * The names, from the linker or the source, of the function at `address` (in the ELF file) and of
 * those inlined there, outermost first. Returns their number, 0 if the DWARF does not cover the
 * address. An entry without a name is NULL. Names live as long as `dwarf`. Takes memory from
 * `share` at the first lookup in a unit.
 */
size_t dwarf_find(struct dwarf *dwarf, struct quota_share *share, uint64_t address,
		  const char *names[DWARF_MAX_DEPTH]);

/* Where a function is defined, as the compiler was told: a file in a folder, each relative to the
 * one before it unless it is absolute. NULL: unknown. */
struct source_place {
	const char *compiled_in, *folder, *name;
};

/*
 * Finds the same functions' places in the source; without a name: unknown. For an address that
 * dwarf_find has looked up. Texts live as long as `dwarf`.
 */
size_t dwarf_find_sources(struct dwarf *dwarf, uint64_t address,
			  struct source_place sources[DWARF_MAX_DEPTH]);

/* DWARF that is there and not read. */
enum dwarf_unread {
	DWARF_UNREAD_NOTHING,
	DWARF_UNREAD_SPLIT,      /* in .dwo files or a .dwp file (-gsplit-dwarf) */
	DWARF_UNREAD_COMMON,     /* names in a file that dwz made for several programs */
	DWARF_UNREAD_COMPRESSED, /* in a way that libdw does not know here (zstd) */
};

/* The first kind that was met, by loading or a lookup. */
enum dwarf_unread dwarf_unread(const struct dwarf *dwarf);

void dwarf_free(struct dwarf *dwarf);

#endif
