// SPDX-License-Identifier: MIT
#include "symbolize/go_table.h"

#include <string.h>

#define WORD 8
#define MODULE_TEXT 22 /* index of the word */

bool go_table_number(const struct go_table *t, uint64_t offset, unsigned int width, uint64_t *value)
{
	if (offset > t->size || t->size - offset < width)
		return false;
	*value = 0;
	memcpy(value, t->bytes + offset, width);
	return true;
}

/* Reads a word of the header, behind its first 8 bytes. */
static bool read_word(const struct go_table *t, unsigned int number, uint64_t *value)
{
	return go_table_number(t, 8 + (uint64_t)number * WORD, WORD, value);
}

bool go_table_open(struct go_table *t)
{
	static const char start[] = {0, 0, 1, WORD};
	uint64_t magic;
	bool is_whole;

	*t = (struct go_table){.bytes = t->bytes, .size = t->size, .width = WORD};
	if (!go_table_number(t, 0, 4, &magic) || !read_word(t, 0, &t->count) ||
	    memcmp(t->bytes + 4, start, sizeof(start)) != 0)
		return false;
	t->version = (uint32_t)magic;
	switch (magic) {
	case GO_TABLE_1_2:
		t->functions = 8 + WORD;
		return true;
	case GO_TABLE_1_16:
		is_whole = read_word(t, 2, &t->names) && read_word(t, 5, &t->lines) &&
			   read_word(t, 6, &t->functions);
		break;
	case GO_TABLE_1_18:
	case GO_TABLE_1_20:
		t->width = 4;
		is_whole = read_word(t, 2, &t->text) && read_word(t, 3, &t->names) &&
			   read_word(t, 6, &t->lines) && read_word(t, 7, &t->functions);
		break;
	default:
		return false;
	}
	t->descriptions = t->functions;
	return is_whole && t->names < t->size && t->lines < t->size && t->functions < t->size;
}

bool go_table_entry(const struct go_table *t, uint64_t i, uint64_t *address)
{
	if (!go_table_number(t, t->functions + i * 2 * t->width, t->width, address))
		return false;
	*address += t->text;
	return true;
}

bool go_table_description(const struct go_table *t, uint64_t i, uint64_t *offset)
{
	if (!go_table_number(t, t->functions + (2 * i + 1) * t->width, t->width, offset) ||
	    *offset > t->size)
		return false;
	*offset += t->descriptions;
	return true;
}

/* ---- in a file ---- */

/* Relocates a section of a position-independent program, as the loader would. */
static void relocate(const struct elf_file *file, char *bytes, const GElf_Shdr *section)
{
	uint64_t left = file->size; /* bytes left: a hostile file may have many such sections at one
				       place */
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

/* Reads a section as in memory; NULL: there is none, or no room. */
static char *read_relocated(const struct elf_file *file, const char *name, GElf_Shdr *header)
{
	char *bytes = elf_file_find_section(file, SHT_PROGBITS, name, header)
			      ? elf_file_read_section(file, header)
			      : NULL;

	if (bytes)
		relocate(file, bytes, header);
	return bytes;
}

static uint64_t text_of_module(const struct elf_file *file)
{
	uint64_t address = 0;
	GElf_Shdr module;
	char *data = read_relocated(file, ".go.module", &module);

	if (data && module.sh_size >= (MODULE_TEXT + 1) * WORD)
		memcpy(&address, data + MODULE_TEXT * WORD, WORD);
	elf_file_free_section(file, &module, data);
	return address;
}

/*
 * Finds the table in the section where an external linker has put it. Returns false if there is
 * none.
 */
static bool find_table(struct go_table *t, const char *bytes, uint64_t size)
{
	for (uint64_t at = 0; at < size; at += WORD) {
		*t = (struct go_table){.bytes = bytes + at, .size = size - at};
		if (go_table_open(t))
			return true;
	}
	return false;
}

char *go_table_read(struct go_table *t, const struct elf_file *file, GElf_Shdr *header)
{
	char *bytes;

	if (file->machine != EM_X86_64 || gelf_getclass(file->elf) != ELFCLASS64)
		return NULL;
	bytes = read_relocated(file, ".gopclntab", header);
	if (!bytes)
		bytes = read_relocated(file, ".data.rel.ro.gopclntab", header);
	if (!bytes && elf_file_find_section(file, SHT_PROGBITS, ".go.buildinfo", header))
		bytes = read_relocated(file, ".data.rel.ro", header);
	if (!bytes)
		return NULL;
	if (!find_table(t, bytes, header->sh_size)) {
		elf_file_free_section(file, header, bytes);
		return NULL;
	}
	if (t->width != WORD && !t->text)
		t->text = text_of_module(file);
	return bytes;
}
