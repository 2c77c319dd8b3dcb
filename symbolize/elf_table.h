/* SPDX-License-Identifier: MIT */
/*
 * Gathers the candidates for a symbol table from the tables of one or more ELF files; elf_syms
 * chooses among them. Not for use elsewhere.
 */
#ifndef SYMBOLIZE_ELF_TABLE_H
#define SYMBOLIZE_ELF_TABLE_H

#include "symbolize/elf_file.h"
#include "symbolize/range_table.h"

struct elf_candidate {
	uint64_t address;
	uint64_t size;  /* 0: unknown */
	uint64_t limit; /* where its section ends; 0: unknown */
	const char *name;
	uint8_t type;    /* STT_* */
	uint8_t binding; /* STB_* */
	bool is_plt;
};

/* At most: the symbols and string tables of a program, its debug file, and .gnu_debugdata. */
#define ELF_TABLE_STRINGS 8

/*
 * What one candidate costs, with what elf_syms builds of it later: a range, its place in a heap,
 * two pieces (range_table.h). Taken from the share when it is added.
 */
#define ELF_TABLE_BUILDING (3 * sizeof(struct range) + sizeof(void *))
#define ELF_TABLE_COST (sizeof(struct elf_candidate) + ELF_TABLE_BUILDING)

/* Names of a file's symbols; .dynstr serves .dynsym and the stubs. */
struct elf_strings {
	char *text;
	uint64_t offset, size; /* in the file */
	int fd;                /* -1: of an image in memory */
};

struct elf_table {
	struct elf_candidate *list;
	uint32_t count, capacity;
	struct elf_strings strings[ELF_TABLE_STRINGS]; /* what the candidates' names point into */
	size_t string_count;
};

/* The symbols of a file's table, in memory. */
struct elf_raw_symbols {
	char *bytes;
	GElf_Shdr header;
	uint32_t count;
	bool is_32_bit;
};

/* Reads the table of `type` (SHT_SYMTAB, SHT_DYNSYM); false: there is none, or no room for it. */
bool elf_raw_symbols_read(struct elf_raw_symbols *raw, const struct elf_file *file, uint32_t type);
bool elf_raw_symbols_get(const struct elf_raw_symbols *raw, uint32_t index, GElf_Sym *symbol);
void elf_raw_symbols_free(struct elf_raw_symbols *raw, const struct elf_file *file);

/*
 * The string table that belongs to `symbols`, read if it is not yet in `table`, which owns it;
 * NULL: it is broken, or there is no room for it.
 */
const struct elf_strings *elf_table_strings(struct elf_table *table, const struct elf_file *file,
					    const struct elf_raw_symbols *symbols);

/*
 * Adds the functions of the file's table of `type`: 1, 0 when the file has no such table, it is
 * broken or too large for the file's share, -ENOMEM.
 */
int elf_table_add(struct elf_table *table, const struct elf_file *file, uint32_t type);

/* Adds the stubs in .plt, .plt.sec and .plt.got: 0 or -ENOMEM. */
int elf_table_add_plt(struct elf_table *table, const struct elf_file *file);

/* Makes room for one more candidate, whose cost has been taken, and adds it: 0 or -ENOMEM. */
int elf_table_push(struct elf_table *table, const struct elf_candidate *candidate);

/* Frees all, the strings included. */
void elf_table_release(struct elf_table *table);

#endif
