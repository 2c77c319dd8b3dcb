/* SPDX-License-Identifier: MIT */
/*
 * Gathers the candidates for a symbol table from the tables of one or more ELF files; elf_syms
 * chooses among them. Not for use elsewhere.
 */
#ifndef SYMBOLIZE_ELF_TABLE_H
#define SYMBOLIZE_ELF_TABLE_H

#include "symbolize/elf_file.h"

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

struct elf_table {
	struct elf_candidate *list;
	size_t count, capacity;
	char *strings[ELF_TABLE_STRINGS]; /* what the names point into */
	size_t string_count;
};

/*
 * Adds the functions of the file's table of `type` (SHT_SYMTAB, SHT_DYNSYM): 1, 0 when the file has
 * no such table or it is broken, -ENOMEM.
 */
int elf_table_add(struct elf_table *table, const struct elf_file *file, uint32_t type);

/* Adds the stubs in .plt, .plt.sec and .plt.got: 0 or -ENOMEM. */
int elf_table_add_plt(struct elf_table *table, const struct elf_file *file);

/* Makes room for one more candidate and takes it: 0 or -ENOMEM. */
int elf_table_push(struct elf_table *table, const struct elf_candidate *candidate);

/* Frees all, the strings included. */
void elf_table_release(struct elf_table *table);

#endif
