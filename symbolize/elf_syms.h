/* SPDX-License-Identifier: MIT */
/*
 * The functions of one ELF program or library: file offset -> linker symbol.
 *
 * Symbols come from .symtab (of the file, else of its separate debug file, else of the compressed
 * .gnu_debugdata) and .dynsym together: STT_FUNC, STT_GNU_IFUNC, and labels (STT_NOTYPE) in
 * executable sections. Rules:
 *
 * - Of several symbols at one address a function beats a label, then global beats weak beats local,
 *   then one with a size, fewer leading underscores, the shorter name, alphabetical order.
 * - A symbol with a size ends there. One without (a label of assembler code) is ignored inside a
 *   symbol that has one. Otherwise it extends to the next symbol, to the end of its section, or to
 *   the end of the function that .eh_frame describes there (elf_functions.h), or, in code without
 *   a description, to the next function that has one: whichever is first. Debuggers and perf do
 *   the same by symbols alone.
 * - In a stripped file the next symbol says little, because what lay between is gone. There a
 *   label in code without a description is one byte long, as for dladdr(3), and an STT_FUNC has at
 *   most ELF_SYMS_UNSIZED_MAX bytes.
 * - Of nested symbols the inner one takes precedence.
 * - A stripped Go program's functions come from the table that its runtime keeps.
 * - Stubs of the procedure linkage table are named after the function that they jump to (x86-64).
 *
 * PT_LOAD segments map file offsets to addresses, so it does not matter where (or whether) the file
 * is relocated. Everything is read at loading; the descriptor is not needed afterwards. Memory and
 * time are bounded by the file's size and its share of the budget (table_quota.h). Format: System V
 * ABI, gABI chapters 4 and 5.
 */
#ifndef SYMBOLIZE_ELF_SYMS_H
#define SYMBOLIZE_ELF_SYMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "symbolize/debug_file.h"
#include "symbolize/util/table_quota.h"

#define ELF_SYMS_UNSIZED_MAX 4096

struct elf_syms;

struct elf_symbol {
	const char *name; /* as the linker knows it; lives as long as the elf_syms */
	uint32_t index;   /* below elf_syms_count; the same for all addresses of one function */
	bool is_plt;      /* a stub that jumps to `name` */
};

/*
 * Loads the symbols of the file open as `fd`. `search` finds a separate debug file, and notes that
 * debuginfod may have one (debug_file.h); NULL: no search. Takes memory from `share` (may be NULL);
 * leaves out tables that do not fit. 0; -ENOEXEC: not an ELF program or library; -ENOMEM; -errno. A
 * file without symbols is not an error.
 */
int elf_syms_load(int fd, struct debug_file_search *search, struct quota_share *share,
		  struct elf_syms **syms);

/* Does the same for an image in memory, laid out as in a file (the vDSO), which is not kept. */
int elf_syms_load_memory(const void *image, size_t size, struct elf_syms **syms);

/* The file's build id in hexadecimal; "": none. */
const char *elf_syms_build_id(const struct elf_syms *syms);

/* The number of symbols. */
uint32_t elf_syms_count(const struct elf_syms *syms);

/* The symbol that contains the byte at `file_offset`; false: none. */
bool elf_syms_find(const struct elf_syms *syms, uint64_t file_offset, struct elf_symbol *symbol);

/*
 * Finds where the function begins that contains the byte at `file_offset`, by .eh_frame: an address
 * in the file. False: nothing describes one there.
 */
bool elf_syms_function(const struct elf_syms *syms, uint64_t file_offset, uint64_t *start);

/* The address in the file of the byte at `file_offset`; false: no segment contains it. */
bool elf_syms_address(const struct elf_syms *syms, uint64_t file_offset, uint64_t *address);

void elf_syms_free(struct elf_syms *syms);

#endif
