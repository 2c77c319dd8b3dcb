/* SPDX-License-Identifier: MIT */
/*
 * The functions of Go programs, which keep their names when they are stripped (-ldflags="-s -w"):
 * the runtime needs its table of functions, .gopclntab, for stack traces and garbage collection.
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
 * last function's end. A description begins with the address, then 4 bytes, the name's offset.
 * Addresses are words; from 1.18 on they have 4 bytes and count from where Go's code begins. The
 * header's word for that may be 0 in the file: then the loader writes it (a relocation), or, from
 * 1.26 on, it is unused, and word 22 of .go.module (runtime.moduledata.text) has it.
 *
 * Of position-independent programs that an external linker has linked, the table is somewhere in
 * .data.rel.ro. What is not code, or is out of order, ends the table: names before it stay.
 */
#include "symbolize/elf_table.h"

#include <stdlib.h>
#include <string.h>

#define WORD 8
#define MODULE_TEXT 22 /* words before it */

struct go_table {
	const char *bytes; /* from its header on, to the end of the section */
	uint64_t size;
	uint64_t functions, descriptions,
		names; /* offsets; the latter two of what offsets count from */
	uint64_t count;
	uint64_t text;      /* addresses count from here */
	unsigned int width; /* bytes of an address */
};

/* Reads `width` bytes at `offset`; false: outside. */
static bool read_number(const struct go_table *t, uint64_t offset, unsigned int width,
			uint64_t *value)
{
	if (offset > t->size || t->size - offset < width)
		return false;
	*value = 0;
	memcpy(value, t->bytes + offset, width);
	return true;
}

static bool read_word(const struct go_table *t, unsigned int number, uint64_t *value)
{
	return read_number(t, 8 + (uint64_t)number * WORD, WORD, value);
}

/* Writes the addresses that the loader would, of a program that may be loaded anywhere. */
static void relocate(const struct elf_file *file, char *bytes, const GElf_Shdr *section)
{
	uint64_t left = file->size; /* a hostile file may have many such sections at one place */
	Elf_Scn *scn = NULL;
	GElf_Shdr header;

	while ((scn = elf_nextscn(file->elf, scn))) {
		char *list;

		if (!gelf_getshdr(scn, &header) || header.sh_type != SHT_RELA ||
		    header.sh_size > left)
			continue;
		left -= header.sh_size;
		list = elf_file_read_section(file, &header);
		for (uint64_t at = 0; list && header.sh_size - at >= sizeof(Elf64_Rela);
		     at += sizeof(Elf64_Rela)) {
			Elf64_Rela rela;
			uint64_t offset;

			memcpy(&rela, list + at, sizeof(rela));
			offset = rela.r_offset - section->sh_addr;
			if (ELF64_R_TYPE(rela.r_info) == R_X86_64_RELATIVE &&
			    offset < section->sh_size && section->sh_size - offset >= WORD)
				memcpy(bytes + offset, &rela.r_addend, WORD);
		}
		elf_file_free_section(file, &header, list);
	}
}

/* A section as in memory; NULL: there is none, or no room. */
static char *read_relocated(const struct elf_file *file, const char *name, GElf_Shdr *header)
{
	char *bytes = elf_file_find_section(file, SHT_PROGBITS, name, header)
			      ? elf_file_read_section(file, header)
			      : NULL;

	if (bytes)
		relocate(file, bytes, header);
	return bytes;
}

static uint64_t start_of_text(const struct elf_file *file, const struct go_table *t)
{
	uint64_t address = 0;
	GElf_Shdr module;
	char *data;

	if (!read_word(t, 2, &address) || address)
		return address;
	data = read_relocated(file, ".go.module", &module);
	if (data && module.sh_size >= (MODULE_TEXT + 1) * WORD)
		memcpy(&address, data + MODULE_TEXT * WORD, WORD);
	elf_file_free_section(file, &module, data);
	return address;
}

static bool read_header(struct go_table *t)
{
	static const unsigned char zeros[2];
	uint64_t magic;
	bool is_whole;

	if (!read_number(t, 0, 4, &magic) || t->size < 8 + WORD ||
	    memcmp(t->bytes + 4, zeros, sizeof(zeros)) != 0 || t->bytes[7] != WORD ||
	    !read_word(t, 0, &t->count))
		return false;
	t->width = WORD;
	switch (magic) {
	case 0xfffffffb:
		t->functions = 8 + WORD;
		return true;
	case 0xfffffffa:
		is_whole = read_word(t, 2, &t->names) && read_word(t, 6, &t->functions);
		break;
	case 0xfffffff0:
	case 0xfffffff1:
		t->width = 4;
		is_whole = read_word(t, 3, &t->names) && read_word(t, 7, &t->functions);
		break;
	default:
		return false;
	}
	t->descriptions = t->functions;
	return is_whole && t->names < t->size && t->functions < t->size;
}

/* The entry of function `i`, or the end of the last one; false: outside of the section. */
static bool read_entry(const struct go_table *t, uint64_t i, uint64_t *address)
{
	if (!read_number(t, t->functions + i * 2 * t->width, t->width, address))
		return false;
	*address += t->text;
	return true;
}

static const char *read_name(const struct go_table *t, uint64_t i)
{
	uint64_t at, name;

	if (!read_number(t, t->functions + (2 * i + 1) * t->width, t->width, &at) || at > t->size ||
	    !read_number(t, t->descriptions + at + t->width, 4, &name) ||
	    name >= t->size - t->names)
		return NULL;
	return t->bytes + t->names + name;
}

static bool is_code(const struct elf_segments *segments, uint64_t start, uint64_t end)
{
	for (uint32_t i = 0; i < segments->count; i++) {
		const struct elf_segment *s = &segments->list[i];

		if (s->is_executable && start >= s->address && end > start &&
		    end - s->address <= s->size)
			return true;
	}
	return false;
}

static int add_functions(struct elf_table *table, const struct elf_file *file,
			 const struct go_table *t)
{
	struct elf_segments segments;
	int err = elf_file_read_segments(file, &segments);
	uint64_t start, end;

	for (uint64_t i = 0; i < t->count && !err; i++) {
		struct elf_candidate function = {.type = STT_FUNC, .binding = STB_LOCAL};

		if (!read_entry(t, i, &start) || !read_entry(t, i + 1, &end) ||
		    !is_code(&segments, start, end))
			break;
		function.address = start;
		function.size = end - start;
		function.name = read_name(t, i);
		if (!function.name || !function.name[0])
			continue;
		if (!budget_take(file->share, ELF_TABLE_COST))
			break;
		err = elf_table_push(table, &function);
	}
	free(segments.list);
	return err;
}

/* Where the table begins in the section that an external linker has put it into; false: nowhere. */
static bool find_table(struct go_table *t)
{
	const struct go_table all = *t;

	for (uint64_t at = 0; at < all.size; at += WORD) {
		*t = (struct go_table){.bytes = all.bytes + at, .size = all.size - at};
		if (read_header(t))
			return true;
	}
	return false;
}

static char *read_table(const struct elf_file *file, GElf_Shdr *header)
{
	char *bytes = read_relocated(file, ".gopclntab", header);

	if (!bytes)
		bytes = read_relocated(file, ".data.rel.ro.gopclntab", header);
	if (!bytes && elf_file_find_section(file, SHT_PROGBITS, ".go.buildinfo", header))
		bytes = read_relocated(file, ".data.rel.ro", header);
	return bytes;
}

int elf_table_add_go(struct elf_table *table, const struct elf_file *file)
{
	uint32_t before = table->count;
	struct go_table t = {0};
	GElf_Shdr header;
	char *bytes;
	int err = 0;

	if (file->machine != EM_X86_64 || gelf_getclass(file->elf) != ELFCLASS64 ||
	    table->string_count == ELF_TABLE_STRINGS)
		return 0;
	bytes = read_table(file, &header);
	if (!bytes)
		return 0;
	t.bytes = bytes;
	t.size = header.sh_size;
	if (find_table(&t)) {
		t.text = t.width == WORD ? 0 : start_of_text(file, &t);
		err = add_functions(table, file, &t);
	}
	if (table->count > before)
		table->strings[table->string_count++] =
			(struct elf_strings){.text = bytes, .size = header.sh_size, .fd = -1};
	else
		elf_file_free_section(file, &header, bytes);
	return err;
}
