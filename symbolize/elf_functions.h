/* SPDX-License-Identifier: MIT */
/*
 * Finds where functions of one ELF file begin and end, by call-frame information, which stripped
 * files keep.
 *
 * Each FDE of .eh_frame describes the code of one function, or of one part (GCC's .cold). Code
 * written in assembler has none unless its author wrote some. Where descriptions overlap, each ends
 * where the next begins. 64-bit files only. Format: cfi.h.
 */
#ifndef SYMBOLIZE_ELF_FUNCTIONS_H
#define SYMBOLIZE_ELF_FUNCTIONS_H

#include <stdint.h>
#include "symbolize/elf_file.h"

/* Addresses in the file. */
struct elf_function {
	uint64_t start, end;
};

struct elf_functions {
	struct elf_function *list; /* sorted, disjoint */
	uint32_t count, capacity;
};

/* Reads the functions, as far as the file's share allows. Returns 0 or -ENOMEM. */
int elf_functions_read(struct elf_functions *functions, const struct elf_file *file);

/* Returns the function that contains `address`; NULL: there is none. */
const struct elf_function *elf_functions_find(const struct elf_functions *functions,
					      uint64_t address);

/* Returns the start of the first function behind `address`; UINT64_MAX: there is none. */
uint64_t elf_functions_next(const struct elf_functions *functions, uint64_t address);

void elf_functions_release(struct elf_functions *functions);

#endif
