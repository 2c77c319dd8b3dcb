/* SPDX-License-Identifier: MIT */
/*
 * Source lines of NVIDIA device code, from a cubin: an ELF file with a line table for its functions
 * (nvcc -lineinfo; Triton and numba write one, too).
 *
 * Each function has a section of its own, in which its addresses begin at 0. The line table has
 * relocations for them, which only cuda-gdb would apply; so they are applied here, with an address
 * for each section, in the order in which the table has the functions: a row says in which function
 * it was inlined, and where, by the number of another row (DW_LNE_NVIDIA_inlined_call), and libdw
 * numbers rows in the order of their addresses.
 *
 * Nothing in a cubin is trusted. Sections are bounded: CUBIN_MAX_LINE_TABLE bytes of line tables,
 * for which libdw takes up to 90 times as much memory while a cubin is open, and CUBIN_MAX_SYMBOLS;
 * so are names, and the texts of a place. libdw sees no other sections than those of lines, none
 * that is compressed, and no table of DWARF 5, which ptxas does not write.
 *
 * Sources: ELF, DWARF 5 (6.2); for NVIDIA's opcodes LLVM's and elfutils' documentation, and what
 * nvcc 13.0 writes.
 */
#ifndef SYMBOLIZE_CUBIN_H
#define SYMBOLIZE_CUBIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CUBIN_MAX_LINE_TABLE (UINT64_C(1) << 20)
#define CUBIN_MAX_SYMBOLS (1u << 18)
#define CUBIN_MAX_NAME 65536u /* bytes of a name with its NUL */
#define CUBIN_MAX_TEXT 32768u /* bytes of a place's texts together; the rest is left out */
#define CUBIN_MAX_DEPTH 32u   /* of inlined functions */

struct cubin_place {
	/* device functions that are inlined there or called, mangled, the outermost first */
	const char *functions[CUBIN_MAX_DEPTH + 1];
	uint32_t function_count;
	const char *file; /* NULL: not known */
	uint32_t line;    /* 0: not known */
};

struct cubin;

/*
 * Opens a cubin that lies in memory, whose section headers change and which must outlive it. Of a
 * file that lacks sections, what needs them is not known. 0, -ENOEXEC: no cubin, or one beyond the
 * bounds, -ENOMEM.
 */
int cubin_open(struct cubin **cubin, void *image, size_t size);
void cubin_close(struct cubin *cubin);

/*
 * Finds what is at `pc`, an offset in the function of that (mangled) name. False: nothing is known.
 * Texts are valid until cubin_close.
 */
bool cubin_find(const struct cubin *cubin, const char *function, uint64_t pc,
		struct cubin_place *place);

#endif
