/* SPDX-License-Identifier: MIT */
#include "symbolize/elf_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "symbolize/util/array.h"

/* Needed parts of a section header, by index: avoids a lookup per symbol. */
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
	if (!array_make_room(&table->list, table->count, &table->capacity, sizeof(*table->list)))
		return -ENOMEM;
	table->list[table->count++] = *candidate;
	return 0;
}

/* ---- raw tables ---- */

bool elf_raw_symbols_read(struct elf_raw_symbols *raw, const struct elf_file *file, uint32_t type)
{
	size_t entry;

	*raw = (struct elf_raw_symbols){.is_32_bit = gelf_getclass(file->elf) == ELFCLASS32};
	if (!elf_file_find_section(file, type, NULL, &raw->header))
		return false;
	raw->bytes = elf_file_read_section(file, &raw->header);
	if (!raw->bytes)
		return false;
	entry = raw->is_32_bit ? sizeof(Elf32_Sym) : sizeof(Elf64_Sym);
	raw->count = (uint32_t)(raw->header.sh_size / entry);
	return true;
}

bool elf_raw_symbols_get(const struct elf_raw_symbols *raw, uint32_t index, GElf_Sym *symbol)
{
	Elf32_Sym small;

	if (index >= raw->count)
		return false;
	if (!raw->is_32_bit) {
		memcpy(symbol, raw->bytes + (size_t)index * sizeof(*symbol), sizeof(*symbol));
		return true;
	}
	memcpy(&small, raw->bytes + (size_t)index * sizeof(small), sizeof(small));
	*symbol = (GElf_Sym){
		.st_name = small.st_name,
		.st_info = small.st_info,
		.st_other = small.st_other,
		.st_shndx = small.st_shndx,
		.st_value = small.st_value,
		.st_size = small.st_size,
	};
	return true;
}

void elf_raw_symbols_free(struct elf_raw_symbols *raw, const struct elf_file *file)
{
	elf_file_free_section(file, &raw->header, raw->bytes);
}

const struct elf_strings *elf_table_strings(struct elf_table *table, const struct elf_file *file,
					    const struct elf_raw_symbols *symbols)
{
	struct elf_strings *strings = table->strings;
	GElf_Shdr header;

	if (!gelf_getshdr(elf_getscn(file->elf, symbols->header.sh_link), &header))
		return NULL;
	for (size_t i = 0; i < table->string_count; i++, strings++)
		if (strings->fd == file->fd && !file->image &&
		    strings->offset == header.sh_offset && strings->size == header.sh_size)
			return strings;
	if (table->string_count == ELF_TABLE_STRINGS)
		return NULL;
	*strings = (struct elf_strings){
		.text = elf_file_read_section(file, &header),
		.offset = header.sh_offset,
		.size = header.sh_size,
		.fd = file->fd,
	};
	if (!strings->text)
		return NULL;
	table->string_count++;
	return strings;
}

/* ---- functions ---- */

/* Returns whether the symbol names code. If so, describes the code, except for its name. */
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
		/* a label counts only in executable sections, unlike symbols such as "_end" */
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

static uint32_t count_functions(const struct elf_raw_symbols *raw, const struct sections *sections)
{
	struct elf_candidate candidate;
	uint32_t count = 0;
	GElf_Sym symbol;

	for (uint32_t i = 1; elf_raw_symbols_get(raw, i, &symbol); i++)
		count += describe(&symbol, sections, &candidate);
	return count;
}

static int add_functions(struct elf_table *table, const struct elf_raw_symbols *raw,
			 const struct elf_strings *strings, const struct sections *sections)
{
	GElf_Sym symbol;

	for (uint32_t i = 1; elf_raw_symbols_get(raw, i, &symbol); i++) {
		struct elf_candidate candidate;
		int err;

		if (symbol.st_name >= strings->size || !describe(&symbol, sections, &candidate))
			continue;
		candidate.name = strings->text + symbol.st_name;
		/* Mapping symbols ("$x") mark code for disassemblers; they are no functions. */
		if (candidate.name[0] == '\0' ||
		    (candidate.type == STT_NOTYPE && candidate.name[0] == '$'))
			continue;
		err = elf_table_push(table, &candidate);
		if (err)
			return err;
	}
	return 0;
}

/* Adds the functions if there is room, as elf_table_add does. */
static int add_within_share(struct elf_table *table, const struct elf_file *file,
			    const struct elf_raw_symbols *raw, const struct sections *sections)
{
	uint32_t count = count_functions(raw, sections), before = table->count;
	const struct elf_strings *strings;
	int err;

	if (!quota_share_take(file->share, count * ELF_TABLE_COST))
		return 0;
	strings = elf_table_strings(table, file, raw);
	err = strings ? add_functions(table, raw, strings, sections) : 0;
	quota_share_return(file->share, (count - (table->count - before)) * ELF_TABLE_COST);
	return err ? err : strings != NULL;
}

int elf_table_add(struct elf_table *table, const struct elf_file *file, uint32_t type)
{
	struct sections sections = {0};
	struct elf_raw_symbols raw;
	int err;

	if (!elf_raw_symbols_read(&raw, file, type))
		return 0;
	err = sections_read(&sections, file);
	if (!err)
		err = add_within_share(table, file, &raw, &sections);
	free(sections.list);
	elf_raw_symbols_free(&raw, file);
	return err;
}

void elf_table_release(struct elf_table *table)
{
	for (size_t i = 0; i < table->string_count; i++)
		free(table->strings[i].text);
	free(table->list);
	*table = (struct elf_table){0};
}
