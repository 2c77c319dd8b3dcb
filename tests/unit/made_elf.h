/* SPDX-License-Identifier: MIT */
/* ELF files for tests as no linker makes them: sections of any size, mostly holes. */
#ifndef TESTS_UNIT_MADE_ELF_H
#define TESTS_UNIT_MADE_ELF_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* Code is in the file, and in memory, from MADE_TEXT on; its section has this index. */
#define MADE_TEXT 0x1000
#define MADE_TEXT_SIZE 0x1000
#define MADE_TEXT_INDEX 1

struct made_section {
	const char *name;
	uint32_t type;
	uint32_t link;    /* index of a section: the first of the caller's has 2 */
	uint64_t size;    /* bytes */
	const void *data; /* NULL: a hole */
	uint64_t flags;
	uint64_t entry_size;
};

static inline void made_write(int fd, const void *data, size_t size, uint64_t offset)
{
	const char *at = data;

	while (size > 0) {
		ssize_t n = pwrite(fd, at, size, (off_t)offset);

		assert_true(n > 0);
		at += n;
		size -= (size_t)n;
		offset += (uint64_t)n;
	}
}

/* Writes a library with these sections behind its code. */
static inline void make_elf(const char *path, const struct made_section *sections, uint32_t count)
{
	Elf64_Ehdr header = {
		.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			    EV_CURRENT},
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(header),
		.e_ehsize = sizeof(header),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 1,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = (uint16_t)(count + 3),
		.e_shstrndx = (uint16_t)(count + 2),
	};
	Elf64_Phdr text = {
		.p_type = PT_LOAD,
		.p_flags = PF_R | PF_X,
		.p_offset = MADE_TEXT,
		.p_vaddr = MADE_TEXT,
		.p_filesz = MADE_TEXT_SIZE,
		.p_memsz = MADE_TEXT_SIZE,
	};
	Elf64_Shdr headers[64] = {{0}};
	char names[1024] = "\0.text\0.shstrtab";
	size_t names_size = sizeof("\0.text\0.shstrtab");
	uint64_t at = MADE_TEXT + MADE_TEXT_SIZE;
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);

	assert_true(fd >= 0 && count + 3 <= 64);
	headers[1] = (Elf64_Shdr){
		.sh_name = 1,
		.sh_type = SHT_PROGBITS,
		.sh_flags = SHF_ALLOC | SHF_EXECINSTR,
		.sh_addr = MADE_TEXT,
		.sh_offset = MADE_TEXT,
		.sh_size = MADE_TEXT_SIZE,
	};
	for (uint32_t i = 0; i < count; i++) {
		const struct made_section *s = &sections[i];

		headers[i + 2] = (Elf64_Shdr){
			.sh_name = (uint32_t)names_size,
			.sh_type = s->type,
			.sh_flags = s->flags,
			.sh_offset = at,
			.sh_size = s->size,
			.sh_link = s->link,
			.sh_entsize = s->entry_size,
		};
		assert_true(names_size + strlen(s->name) + 1 < sizeof(names));
		memcpy(names + names_size, s->name, strlen(s->name) + 1);
		names_size += strlen(s->name) + 1;
		if (s->data)
			made_write(fd, s->data, s->size, at);
		at = (at + s->size + 15) / 16 * 16;
	}
	headers[count + 2] = (Elf64_Shdr){
		.sh_name = 7, .sh_type = SHT_STRTAB, .sh_offset = at, .sh_size = names_size};
	made_write(fd, names, names_size, at);
	header.e_shoff = (at + names_size + 15) / 16 * 16;
	made_write(fd, headers, (count + 3) * sizeof(*headers), header.e_shoff);
	made_write(fd, &header, sizeof(header), 0);
	made_write(fd, &text, sizeof(text), sizeof(header));
	close(fd);
}

/* Returns the symbol of a function at this offset of the code. */
static inline Elf64_Sym made_function(uint32_t name, uint64_t offset, uint64_t size)
{
	return (Elf64_Sym){
		.st_name = name,
		.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
		.st_shndx = MADE_TEXT_INDEX,
		.st_value = MADE_TEXT + offset,
		.st_size = size,
	};
}

#endif
