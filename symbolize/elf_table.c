/* SPDX-License-Identifier: MIT */
#include "symbolize/elf_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What is needed of a section header, by index, so that symbols do not look it up one by one. */
struct section {
	uint64_t start, end;
	bool executable;
};

struct sections {
	struct section *list;
	size_t count;
};

static int sections_read(struct sections *sections, const struct elf_file *file)
{
	Elf_Scn *scn = NULL;

	*sections = (struct sections){0};
	if (elf_getshdrnum(file->elf, &sections->count) != 0)
		return 0;
	sections->list = calloc(sections->count + 1, sizeof(*sections->list));
	if (!sections->list)
		return -ENOMEM;
	while ((scn = elf_nextscn(file->elf, scn))) {
		size_t index = elf_ndxscn(scn);
		GElf_Shdr header;

		if (index >= sections->count || !gelf_getshdr(scn, &header))
			continue;
		sections->list[index] = (struct section){
			.start = header.sh_addr,
			.end = header.sh_addr + header.sh_size,
			.executable = (header.sh_flags & SHF_EXECINSTR) != 0,
		};
	}
	return 0;
}

int elf_table_push(struct elf_table *table, const struct elf_candidate *candidate)
{
	if (table->count == table->capacity) {
		size_t capacity = table->capacity ? table->capacity * 2 : 1024;
		struct elf_candidate *bigger;

		bigger = realloc(table->list, capacity * sizeof(*bigger));
		if (!bigger)
			return -ENOMEM;
		table->list = bigger;
		table->capacity = capacity;
	}
	table->list[table->count++] = *candidate;
	return 0;
}

/* Whether the symbol names code; if so what is known of it, but for the name. */
static bool describe(const GElf_Sym *symbol, const struct sections *sections,
		     struct elf_candidate *candidate)
{
	const struct section *section = NULL;
	uint8_t type = GELF_ST_TYPE(symbol->st_info);

	if (symbol->st_shndx == SHN_UNDEF)
		return false;
	if (symbol->st_shndx < SHN_LORESERVE && symbol->st_shndx < sections->count)
		section = &sections->list[symbol->st_shndx];
	if (type == STT_NOTYPE) {
		/* A label: only where there is code, which excludes such as "_end". */
		if (!section || !section->executable || symbol->st_value < section->start ||
		    symbol->st_value >= section->end)
			return false;
	} else if (type != STT_FUNC && type != STT_GNU_IFUNC) {
		return false;
	}
	*candidate = (struct elf_candidate){
		.address = symbol->st_value,
		.size = symbol->st_size,
		.limit = section && section->executable ? section->end : 0,
		.type = type,
		.binding = GELF_ST_BIND(symbol->st_info),
	};
	return true;
}

static int add_symbols(struct elf_table *table, Elf_Data *symbols, size_t count,
		       const char *strings, size_t strings_size, const struct sections *sections)
{
	for (size_t i = 1; i < count; i++) {
		struct elf_candidate candidate;
		GElf_Sym symbol;
		int err;

		if (!gelf_getsym(symbols, (int)i, &symbol) || symbol.st_name >= strings_size ||
		    !describe(&symbol, sections, &candidate))
			continue;
		candidate.name = strings + symbol.st_name;
		/* Mapping symbols ("$x") mark code for the assembler's readers, not functions. */
		if (candidate.name[0] == '\0' ||
		    (candidate.type == STT_NOTYPE && candidate.name[0] == '$'))
			continue;
		err = elf_table_push(table, &candidate);
		if (err)
			return err;
	}
	return 0;
}

int elf_table_add(struct elf_table *table, const struct elf_file *file, uint32_t type)
{
	struct sections sections = {0};
	GElf_Shdr header, strings_header;
	size_t entry, count;
	Elf_Data *symbols;
	char *strings;
	Elf_Scn *scn;
	int err;

	scn = elf_file_find_section(file, type, NULL, &header);
	if (!scn || !elf_file_has_contents(file, &header) ||
	    table->string_count == ELF_TABLE_STRINGS ||
	    !gelf_getshdr(elf_getscn(file->elf, header.sh_link), &strings_header))
		return 0;
	entry = gelf_fsize(file->elf, ELF_T_SYM, 1, EV_CURRENT);
	symbols = elf_getdata(scn, NULL);
	if (!symbols || !symbols->d_buf || symbols->d_type != ELF_T_SYM || entry == 0)
		return 0;
	count = symbols->d_size / entry;
	if (count > INT32_MAX / 4)
		return 0;
	strings = elf_file_read_section(file, &strings_header);
	if (!strings)
		return 0;
	table->strings[table->string_count++] = strings;
	err = sections_read(&sections, file);
	if (!err)
		err = add_symbols(table, symbols, count, strings, strings_header.sh_size,
				  &sections);
	free(sections.list);
	return err ? err : 1;
}

void elf_table_release(struct elf_table *table)
{
	for (size_t i = 0; i < table->string_count; i++)
		free(table->strings[i]);
	free(table->list);
	*table = (struct elf_table){0};
}
