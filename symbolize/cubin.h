/* SPDX-License-Identifier: MIT */
/*
 * Finds source lines of NVIDIA device code in a cubin: an ELF file with a line table of its
 * functions.
 *
 * nvcc -lineinfo writes line tables; so do Triton and numba. Each function has a section of its
 * own, in which addresses begin at 0. The line table has relocations, which only cuda-gdb would
 * apply, so this module applies them. Each section gets an address, in the order of the functions
 * in the table. That order matters: a row names its caller by the number of another row
 * (DW_LNE_NVIDIA_inlined_call), and libdw numbers rows in the order of their addresses.
 *
 * Nothing in a cubin is trusted. Line tables are limited to CUBIN_MAX_LINE_TABLE bytes, for which
 * libdw takes up to 90 times as much memory while a cubin is open. Symbols, names and texts of a
 * place have limits, too. libdw sees the sections of lines only, none compressed, and no table of
 * DWARF 5, which ptxas does not write.
 *
 * Sources: ELF, DWARF 5 (6.2); for NVIDIA's opcodes LLVM's and elfutils' documentation, and the
 * output of nvcc 13.0.
 */
#ifndef SYMBOLIZE_CUBIN_H
#define SYMBOLIZE_CUBIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CUBIN_MAX_LINE_TABLE (UINT64_C(1) << 20)
#define CUBIN_MAX_SYMBOLS (1u << 18)
#define CUBIN_MAX_NAME 65536u /* bytes of a name, with its NUL */
#define CUBIN_MAX_TEXT 32768u /* bytes of all texts of a place; the rest is omitted */
#define CUBIN_MAX_DEPTH 32u   /* depth of inlined functions */

struct cubin_place {
	/* device functions inlined or called there, mangled, outermost first */
	const char *functions[CUBIN_MAX_DEPTH + 1];
	uint32_t function_count;
	const char *file; /* NULL: unknown */
	uint32_t line;    /* 0: unknown */
};

struct cubin;

/*
 * Opens a cubin in memory, whose section headers change and which must outlive the handle. Missing
 * sections cost only the data in them. Returns 0, -ENOEXEC if the image is no cubin or exceeds the
 * limits, or -ENOMEM.
 */
int cubin_open(struct cubin **cubin, void *image, size_t size);
void cubin_close(struct cubin *cubin);

/*
 * Finds the source place at `pc`, an offset in the function with that mangled name. Returns false
 * if nothing is known. Texts are valid until cubin_close.
 */
bool cubin_find(const struct cubin *cubin, const char *function, uint64_t pc,
		struct cubin_place *place);

#endif
