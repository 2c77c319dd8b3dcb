/* SPDX-License-Identifier: MIT */
/*
 * Collects candidates for a symbol table from the tables of one or more ELF files, for elf_syms.
 * Internal.
 */
#ifndef SYMBOLIZE_ELF_TABLE_H
#define SYMBOLIZE_ELF_TABLE_H

#include "symbolize/elf_file.h"
#include "symbolize/util/range_table.h"

struct elf_candidate {
	uint64_t address;
	uint64_t size;  /* 0: unknown */
	uint64_t limit; /* end of its section; 0: unknown */
	const char *name;
	uint8_t type;    /* STT_* */
	uint8_t binding; /* STB_* */
	bool is_plt;
};

/* Maximum number of string tables: of a program, its debug file, and .gnu_debugdata. */
#define ELF_TABLE_STRINGS 8

/*
 * Cost of a candidate, with elf_syms' later data: a range, its place in a heap, two pieces
 * (range_table.h). Taken from the share when the candidate is added.
 */
#define ELF_TABLE_BUILDING (3 * sizeof(struct range) + sizeof(void *))
#define ELF_TABLE_COST (sizeof(struct elf_candidate) + ELF_TABLE_BUILDING)

/* String table of a file. .dynsym and the stubs share .dynstr. */
struct elf_strings {
	char *text;
	uint64_t offset, size; /* position in the file */
	int fd;                /* -1: an image in memory */
};

struct elf_table {
	struct elf_candidate *list;
	uint32_t count, capacity;
	struct elf_strings strings[ELF_TABLE_STRINGS]; /* storage of the candidates' names */
	size_t string_count;
};

/* Symbol table of a file, in memory. */
struct elf_raw_symbols {
	char *bytes;
	GElf_Shdr header;
	uint32_t count;
	bool is_32_bit;
};

/*
 * Reads the table of `type` (SHT_SYMTAB, SHT_DYNSYM). Returns false if there is none, or no room.
 */
bool elf_raw_symbols_read(struct elf_raw_symbols *raw, const struct elf_file *file, uint32_t type);
bool elf_raw_symbols_get(const struct elf_raw_symbols *raw, uint32_t index, GElf_Sym *symbol);
void elf_raw_symbols_free(struct elf_raw_symbols *raw, const struct elf_file *file);

/*
 * Finds the string table of `symbols`, and reads it into `table`, its owner, if necessary. Returns
 * NULL if malformed, or no room.
 */
const struct elf_strings *elf_table_strings(struct elf_table *table, const struct elf_file *file,
					    const struct elf_raw_symbols *symbols);

/*
 * Adds the functions of the file's table of `type`. Returns 1; 0 if there is no table, or
 * malformed, or too large for the file's share; -ENOMEM.
 */
int elf_table_add(struct elf_table *table, const struct elf_file *file, uint32_t type);

/* Adds the stubs in .plt, .plt.sec and .plt.got. Returns 0 or -ENOMEM. */
int elf_table_add_plt(struct elf_table *table, const struct elf_file *file);

/* Adds the functions that a Go program's own table names. Returns 0 or -ENOMEM. */
int elf_table_add_go(struct elf_table *table, const struct elf_file *file);

/* Adds a candidate whose cost has been taken. Returns 0 or -ENOMEM. */
int elf_table_push(struct elf_table *table, const struct elf_candidate *candidate);

/* Frees everything, strings included. */
void elf_table_release(struct elf_table *table);

#endif
