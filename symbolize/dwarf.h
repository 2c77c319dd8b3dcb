/* SPDX-License-Identifier: MIT */
/*
 * The functions that a compiler inlined: address -> the function and what was inlined into it
 * there.
 *
 * Read by libdw from .debug_info of the file, else of its separate debug file (debug_file.h): the
 * DW_TAG_inlined_subroutine entries that hold the address, inside their DW_TAG_subprogram. A name
 * is the linkage name, else DW_AT_name, along DW_AT_abstract_origin and DW_AT_specification. DWARF
 * 2 to 5. Not followed: .dwo files (-gsplit-dwarf) and dwz's alternate files, for libdw would open
 * any path that the file names; sections compressed with zstd where libdw lacks it.
 *
 * Loading indexes the units by address; a unit's entries are read when an address in it is first
 * asked for. A file without .debug_info costs a look at its section headers.
 *
 * Untrusted input: what is read, by pread(2) as for elf_file.h, and what libdw and this module
 * allocate for it is taken from a share of the budget (budget.h) beforehand; units, entries and
 * ranges that do not fit are left out. Entries of a unit must follow one another: a reference
 * backwards, which could lead in a circle, or nesting beyond DWARF_MAX_NESTING ends the reading of
 * that unit; what was read before stays. Inlining deeper than DWARF_MAX_DEPTH is attributed to the
 * deepest function kept. The time that a look-up takes is not bounded: a few hostile bytes can
 * stand for millions of attributes (bounded_call.h).
 *
 * Not thread-safe. Nothing is printed.
 */
#ifndef SYMBOLIZE_DWARF_H
#define SYMBOLIZE_DWARF_H

#include <stddef.h>
#include <stdint.h>
#include "symbolize/budget.h"
#include "symbolize/debug_file.h"

struct dwarf;

/*
 * Loads the index of the file open as `fd`, which is not needed afterwards. `search` and `share`
 * are as for elf_syms_load. 0; -ENOENT when there is no DWARF; -ENOEXEC when it is not an ELF
 * program or library, or its DWARF cannot be read; -ENOSPC where the share does not suffice;
 * -ENOMEM; -errno. The caller frees it.
 */
int dwarf_load(int fd, struct debug_file_search *search, struct budget_share *share,
	       struct dwarf **dwarf);

/*
 * The names, as the linker or the source has them, of the function at `address` (as the ELF file
 * counts it) and of those inlined there, outermost first. Returns how many, 0 when the DWARF does
 * not cover the address. An entry without a name is NULL. Names live as long as `dwarf`. Memory is
 * taken from `share` when a unit is first asked for.
 */
size_t dwarf_find(struct dwarf *dwarf, struct budget_share *share, uint64_t address,
		  const char *names[DWARF_MAX_DEPTH]);

void dwarf_free(struct dwarf *dwarf);

#endif
