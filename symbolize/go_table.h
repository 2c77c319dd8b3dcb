/* SPDX-License-Identifier: MIT */
/*
 * Finds and reads the table of functions in Go programs, .gopclntab.
 *
 * strip does not remove the table, because the runtime needs it for stack traces and garbage
 * collection. elf_go takes names from it, go_frames the rules of unwinding.
 *
 * Format: src/runtime/symtab.go and src/debug/gosym/pclntab.go of Go. Numbers are little endian;
 * words have 8 bytes here. The header: magic, two zeros, the unit of instructions, bytes of a word,
 * the number of functions as a word; then
 *
 *	1.2   0xfffffffb  the table of functions; offsets count from the header
 *	1.16  0xfffffffa  words: files, then offsets of names, units, files, lines, functions
 *	1.18  0xfffffff0  words: files, the first function's address, then offsets as in 1.16
 *	1.20  0xfffffff1  as 1.18
 *
 * The table of functions has pairs, a function's address and the offset of its description, then
 * the last function's end. Addresses are words; from 1.18 on they have 4 bytes and count from the
 * start of Go's code. The header's word for that start may be 0 in the file: then the loader writes
 * it (a relocation). From 1.26 on it is unused, and word 22 of .go.module (runtime.moduledata.text)
 * has the start.
 *
 * In position-independent programs of an external linker, the table is somewhere in .data.rel.ro.
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
	const char *bytes; /* the table, from its header to the end of the section; borrowed */
	uint64_t size;
	/* set by go_table_open; all offsets are below `size` */
	uint32_t version;   /* enum go_version */
	unsigned int width; /* bytes of an address */
	uint64_t count;     /* functions by the header; there may be fewer */
	uint64_t functions;
	uint64_t descriptions, names, lines; /* bases of these offsets */
	uint64_t text; /* base of addresses; 0: they are absolute, or the header lacks it */
};

/* Reads the header. Returns false if its version is unknown. */
bool go_table_open(struct go_table *table);

/*
 * Finds and opens the table of an x86-64 program. Returns the section with the table, for
 * elf_file_free_section with `header`; NULL if there is none, or no room for it.
 */
char *go_table_read(struct go_table *table, const struct elf_file *file, GElf_Shdr *header);

/* Reads a number of `width` bytes at `offset`. Returns false outside of the table. */
bool go_table_number(const struct go_table *table, uint64_t offset, unsigned int width,
		     uint64_t *value);

/*
 * Finds the address of function `i`, or the end of the last one. Returns false outside of the
 * table.
 */
bool go_table_entry(const struct go_table *table, uint64_t i, uint64_t *address);

/*
 * Finds the offset of the description of function `i`, which begins with its address. Returns false
 * outside of the table.
 */
bool go_table_description(const struct go_table *table, uint64_t i, uint64_t *offset);

#endif
