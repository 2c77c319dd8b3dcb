/* SPDX-License-Identifier: MIT */
/*
 * Finds linker symbols of one ELF program or library by file offset.
 *
 * Symbols come from two tables together. One is .symtab: of the file, else of its separate debug
 * file, else of the compressed .gnu_debugdata. The other is .dynsym. Symbols are STT_FUNC,
 * STT_GNU_IFUNC, and labels (STT_NOTYPE) in executable sections. Rules:
 *
 * - At one address a function beats a label. Then global beats weak beats local; then one with a
 *   size wins, then fewer leading underscores, the shorter name, alphabetical order.
 * - A symbol with a size ends there. A symbol without one (a label in assembler) is ignored inside
 *   a symbol that has one. Otherwise it ends at the first of these: the next symbol, the end of its
 *   section, the end of the function that .eh_frame describes there (elf_functions.h). Without such
 *   a description it also ends at the next function that has one. Debuggers and perf decide so by
 *   symbols alone.
 * - In a stripped file the next symbol tells little, because symbols between are gone. There a
 *   label in code without a description has one byte, as for dladdr(3). An STT_FUNC has at most
 *   ELF_SYMS_UNSIZED_MAX bytes.
 * - Of nested symbols the inner one takes precedence.
 * - A stripped Go program's functions come from its runtime's table.
 * - Stubs of the procedure linkage table are named after the function that they jump to (x86-64).
 *
 * PT_LOAD segments map file offsets to addresses, so relocation of the file does not matter.
 * Everything is read at loading; the descriptor is not needed afterwards. The file's size and its
 * share of the quota (table_quota.h) bound memory and time. Format: System V ABI, gABI chapters 4
 * and 5.
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
	const char *name; /* linker symbol; lives as long as the elf_syms */
	uint32_t index;   /* below elf_syms_count; one for all addresses of a function */
	bool is_plt;      /* a stub that jumps to `name` */
};

/*
 * Loads the symbols of the file open as `fd`. `search` finds a separate debug file, and notes that
 * debuginfod may have one (debug_file.h); NULL: no search. Takes memory from `share` (may be NULL);
 * omits tables that do not fit. Returns 0; -ENOEXEC: not an ELF program or library; -ENOMEM;
 * -errno. A file without symbols is no error.
 */
int elf_syms_load(int fd, struct debug_file_search *search, struct quota_share *share,
		  struct elf_syms **syms);

/*
 * Loads the symbols of an image in memory, laid out as in a file (the vDSO); does not keep the
 * image.
 */
int elf_syms_load_memory(const void *image, size_t size, struct elf_syms **syms);

/* Returns the build id of the file in hexadecimal; "": there is none. */
const char *elf_syms_build_id(const struct elf_syms *syms);

/* Returns the number of symbols. */
uint32_t elf_syms_count(const struct elf_syms *syms);

/* Finds the symbol that contains the byte at `file_offset`. Returns false if there is none. */
bool elf_syms_find(const struct elf_syms *syms, uint64_t file_offset, struct elf_symbol *symbol);

/*
 * Finds the start (an address in the file) of the function with the byte at `file_offset`, by
 * .eh_frame. Returns false if nothing describes one there.
 */
bool elf_syms_function(const struct elf_syms *syms, uint64_t file_offset, uint64_t *start);

/*
 * Converts a file offset to an address in the file. Returns false if no segment contains the byte.
 */
bool elf_syms_address(const struct elf_syms *syms, uint64_t file_offset, uint64_t *address);

void elf_syms_free(struct elf_syms *syms);

#endif
