/* SPDX-License-Identifier: MIT */
/*
 * The table of functions in Go programs, .gopclntab: where it is in a file, and its header. No
 * strip removes it, because the runtime needs it for stack traces and garbage collection. elf_go
 * takes names from it, go_frames how functions are unwound.
 *
 * Format: src/runtime/symtab.go and src/debug/gosym/pclntab.go of Go. Numbers are little endian;
 * words have 8 bytes here. A header: magic, two zeros, the unit of instructions, bytes of a word,
 * the number of functions as a word; then
 *
 *	1.2   0xfffffffb  the table of functions; offsets are from the header on
 *	1.16  0xfffffffa  words: files, then where names, units, files, lines, functions begin
 *	1.18  0xfffffff0  words: files, the first function's address, then the same
 *	1.20  0xfffffff1  as 1.18
 *
 * The table of functions has pairs, an entry's address and the offset of its description, and the
 * last function's end. Addresses are words; from 1.18 on they have 4 bytes and count from where
 * Go's code begins. The header's word for that may be 0 in the file: then the loader writes it (a
 * relocation), or, from 1.26 on, it is unused, and word 22 of .go.module (runtime.moduledata.text)
 * has it.
 *
 * Of position-independent programs that an external linker has linked, the table is somewhere in
 * .data.rel.ro.
 */
#ifndef SYMBOLIZE_GO_TABLE_H
#define SYMBOLIZE_GO_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include "symbolize/elf_file.h"

enum go_version {
	GO_TABLE_1_2 = 0xfffffffbu,
	GO_TABLE_1_16 = 0xfffffffau,
	GO_TABLE_1_18 = 0xfffffff0u,
	GO_TABLE_1_20 = 0xfffffff1u,
};

struct go_table {
	const char *bytes; /* from its header on, to the end of the section; borrowed */
	uint64_t size;
	/* the rest is set by go_table_open, all offsets below `size` */
	uint32_t version;   /* enum go_version */
	unsigned int width; /* bytes of an address */
	uint64_t count;     /* of functions, by the header: there may be fewer */
	uint64_t functions;
	uint64_t descriptions, names, lines; /* what the offsets of these count from */
	uint64_t text; /* addresses count from here; 0: from 0, or it is not in the header */
};

/* Reads the header. False: it is no table of a known version. */
bool go_table_open(struct go_table *table);

/*
 * Finds and opens the table of an x86-64 program. Returns the section that has it, for
 * elf_file_free_section with `header`; NULL: there is none, or no room for it.
 */
char *go_table_read(struct go_table *table, const struct elf_file *file, GElf_Shdr *header);

/* Reads `width` bytes at `offset`; false: outside of the table. */
bool go_table_number(const struct go_table *table, uint64_t offset, unsigned int width,
		     uint64_t *value);

/* The address of function `i`, or the end of the last one; false: outside of the table. */
bool go_table_entry(const struct go_table *table, uint64_t i, uint64_t *address);

/*
 * The offset of function `i`'s description, which begins with its address; false: outside of the
 * table.
 */
bool go_table_description(const struct go_table *table, uint64_t i, uint64_t *offset);

#endif
