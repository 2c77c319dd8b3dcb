/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a Go program's table of functions, in a sound ELF file: no crash, no leak, no name
 * that is longer than the table, no function or gap that does not have its own address. The first
 * byte chooses the section, the second one how many relocations the input ends with.
 */
#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "symbolize/elf_cfi.h"
#include "symbolize/elf_syms.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define TEXT 0x1000
#define TEXT_SIZE 0x1000
#define SECTION (TEXT + TEXT_SIZE) /* address and offset */
#define MOST 65536

static const char names[] = "\0.text\0.shstrtab\0.rela\0.go.buildinfo\0.gopclntab\0.data.rel.ro\0"
			    ".data.rel.ro.gopclntab";

static uint32_t name_of(const char *section)
{
	const char *at = names + 1;

	while (strcmp(at, section) != 0)
		at += strlen(at) + 1;
	return (uint32_t)(at - names);
}

/* The file; `*size` is its size. */
static uint8_t *make(const uint8_t *table, size_t table_size, size_t relocations, const char *name,
		     size_t *size)
{
	size_t rela_size = relocations * sizeof(Elf64_Rela), end = SECTION + table_size;
	size_t headers_at = (end + sizeof(names) + 7) / 8 * 8;
	Elf64_Shdr headers[] = {
		{0},
		{.sh_name = name_of(".text"),
		 .sh_type = SHT_PROGBITS,
		 .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
		 .sh_addr = TEXT,
		 .sh_offset = TEXT,
		 .sh_size = TEXT_SIZE},
		{.sh_name = name_of(name),
		 .sh_type = SHT_PROGBITS,
		 .sh_addr = SECTION,
		 .sh_offset = SECTION,
		 .sh_size = table_size},
		{.sh_name = name_of(".go.buildinfo"), .sh_type = SHT_PROGBITS},
		{.sh_name = name_of(".rela"),
		 .sh_type = SHT_RELA,
		 .sh_offset = end - rela_size,
		 .sh_size = rela_size},
		{.sh_name = name_of(".shstrtab"),
		 .sh_type = SHT_STRTAB,
		 .sh_offset = end,
		 .sh_size = sizeof(names)},
	};
	const Elf64_Phdr text = {.p_type = PT_LOAD,
				 .p_flags = PF_R | PF_X,
				 .p_offset = TEXT,
				 .p_vaddr = TEXT,
				 .p_filesz = TEXT_SIZE,
				 .p_memsz = TEXT_SIZE};
	const Elf64_Ehdr header = {
		.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			    EV_CURRENT},
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(header),
		.e_shoff = headers_at,
		.e_ehsize = sizeof(header),
		.e_phentsize = sizeof(text),
		.e_phnum = 1,
		.e_shentsize = sizeof(*headers),
		.e_shnum = sizeof(headers) / sizeof(*headers),
		.e_shstrndx = sizeof(headers) / sizeof(*headers) - 1,
	};
	uint8_t *file;

	*size = headers_at + sizeof(headers);
	file = calloc(1, *size);
	if (!file)
		abort();
	memcpy(file, &header, sizeof(header));
	memcpy(file + sizeof(header), &text, sizeof(text));
	memcpy(file + SECTION, table, table_size);
	memcpy(file + end, names, sizeof(names));
	memcpy(file + headers_at, headers, sizeof(headers));
	return file;
}

static void unwind(const uint8_t *file, size_t size)
{
	struct elf_cfi *cfi;

	if (elf_cfi_load_memory(file, size, &cfi) != 0)
		return;
	for (uint64_t at = TEXT; at < TEXT + TEXT_SIZE; at += 8) {
		struct cfi_bounds bounds = elf_cfi_find_bounds(cfi, at);
		struct cfi_row row;

		elf_cfi_find_row(cfi, at, &row);
		if (at < bounds.start || at >= bounds.end)
			abort();
	}
	elf_cfi_free(cfi);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const sections[] = {".gopclntab", ".data.rel.ro",
					       ".data.rel.ro.gopclntab"};
	struct elf_syms *syms = NULL;
	struct elf_symbol symbol;
	size_t file_size, table_size = size - 2;
	uint8_t *file;

	if (size < 3 || size > MOST || data[1] * sizeof(Elf64_Rela) > table_size)
		return 0;
	file = make(data + 2, table_size, data[1], sections[data[0] % 3], &file_size);
	if (elf_syms_load_memory(file, file_size, &syms) != 0)
		abort();
	unwind(file, file_size);
	memset(file, 'x', file_size); /* it is not kept */
	for (uint64_t at = TEXT - 8; at < TEXT + TEXT_SIZE + 8; at += 8)
		if (elf_syms_find(syms, at, &symbol) &&
		    (at < TEXT || at >= TEXT + TEXT_SIZE || !symbol.name[0] ||
		     strlen(symbol.name) > table_size))
			abort();
	elf_syms_free(syms);
	free(file);
	return 0;
}
