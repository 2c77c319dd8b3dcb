/* SPDX-License-Identifier: MIT */
/*
 * Names the stubs of the procedure linkage table (x86-64 psABI, 5.2.4).
 *
 * A stub jumps through a slot of the global offset table, "jmp *disp(%rip)". A relocation names the
 * function whose address the dynamic linker stores in the slot. Reading the jump instead of
 * counting stubs works for all layouts: .plt with lazy binding, .plt.sec with IBT, and .plt.got.
 */
#include "symbolize/elf_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "symbolize/util/array.h"
#include "symbolize/util/sorted.h"

#define STUB_SIZE 16
#define SHORT_STUB_SIZE 8 /* stubs in .plt.got without IBT */

struct slot {
	uint64_t address; /* address of the GOT entry */
	uint32_t symbol;  /* index in .dynsym */
};

struct slots {
	struct slot *list;
	uint32_t count, capacity;
};

/* Adds the slots in which the dynamic linker stores addresses of functions, as many as fit. */
static int add_slots(struct slots *slots, const struct elf_file *file, const char *relocations,
		     size_t count)
{
	for (size_t i = 0; i < count; i++) {
		Elf64_Rela rela;
		uint64_t type;

		memcpy(&rela, relocations + i * sizeof(rela), sizeof(rela));
		type = ELF64_R_TYPE(rela.r_info);
		if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT)
			continue;
		if (!quota_share_take(file->share, sizeof(*slots->list)))
			return 0;
		if (!array_make_room(&slots->list, slots->count, &slots->capacity,
				     sizeof(*slots->list)))
			return -ENOMEM;
		slots->list[slots->count++] =
			(struct slot){rela.r_offset, (uint32_t)ELF64_R_SYM(rela.r_info)};
	}
	return 0;
}

static int read_slots(struct slots *slots, const struct elf_file *file)
{
	uint64_t left = file->size; /* bytes left: a hostile file may have many such sections at one
				       place */
	Elf_Scn *scn = NULL;
	GElf_Shdr header;
	int err = 0;

	while (!err && (scn = elf_nextscn(file->elf, scn))) {
		char *relocations;

		if (!gelf_getshdr(scn, &header) || header.sh_type != SHT_RELA ||
		    header.sh_size > left)
			continue;
		left -= header.sh_size;
		relocations = elf_file_read_section(file, &header);
		if (!relocations)
			continue;
		err = add_slots(slots, file, relocations, header.sh_size / sizeof(Elf64_Rela));
		elf_file_free_section(file, &header, relocations);
	}
	if (slots->count > 0)
		qsort(slots->list, slots->count, sizeof(*slots->list), sorted_compare);
	return err;
}

/* Returns the GOT slot that the stub at `address` jumps through; 0: there is none. */
static uint64_t slot_of_stub(const unsigned char *code, size_t size, uint64_t address)
{
	for (size_t i = 0; i + 6 <= size; i++) {
		int32_t displacement;

		if (code[i] != 0xff || code[i + 1] != 0x25)
			continue;
		memcpy(&displacement, code + i + 2, sizeof(displacement));
		return address + i + 6 + (uint64_t)(int64_t)displacement;
	}
	return 0;
}

struct names {
	const struct elf_raw_symbols *symbols;
	const struct elf_strings *strings;
};

static const char *name_of_slot(const struct slots *slots, uint64_t address,
				const struct names *names)
{
	struct slot key = {.address = address};
	const struct slot *slot;
	GElf_Sym symbol;

	if (address == 0 || slots->count == 0)
		return NULL;
	slot = bsearch(&key, slots->list, slots->count, sizeof(key), sorted_compare);
	if (!slot || !elf_raw_symbols_get(names->symbols, slot->symbol, &symbol) ||
	    symbol.st_name >= names->strings->size || names->strings->text[symbol.st_name] == '\0')
		return NULL;
	return names->strings->text + symbol.st_name;
}

static int add_stubs(struct elf_table *table, const struct elf_file *file, const char *section,
		     const struct slots *slots, const struct names *names)
{
	size_t step = STUB_SIZE;
	GElf_Shdr header;
	char *code;
	int err = 0;

	if (!elf_file_find_section(file, SHT_PROGBITS, section, &header))
		return 0;
	code = elf_file_read_section(file, &header);
	if (!code)
		return 0;
	if (header.sh_entsize == SHORT_STUB_SIZE)
		step = SHORT_STUB_SIZE;
	for (size_t at = 0; at + step <= header.sh_size && !err; at += step) {
		struct elf_candidate stub = {
			.address = header.sh_addr + at,
			.size = step,
			.type = STT_FUNC,
			.binding = STB_LOCAL,
			.is_plt = true,
		};

		stub.name = name_of_slot(
			slots, slot_of_stub((unsigned char *)code + at, step, stub.address), names);
		if (stub.name && quota_share_take(file->share, ELF_TABLE_COST))
			err = elf_table_push(table, &stub);
	}
	elf_file_free_section(file, &header, code);
	return err;
}

static int add_all_stubs(struct elf_table *table, const struct elf_file *file,
			 const struct names *names)
{
	static const char *const sections[] = {".plt", ".plt.sec", ".plt.got"};
	struct slots slots = {0};
	int err = read_slots(&slots, file);

	for (size_t i = 0; i < sizeof(sections) / sizeof(*sections) && !err; i++)
		err = add_stubs(table, file, sections[i], &slots, names);
	quota_share_return(file->share, slots.count * sizeof(*slots.list));
	free(slots.list);
	return err;
}

int elf_table_add_plt(struct elf_table *table, const struct elf_file *file)
{
	struct elf_raw_symbols symbols;
	struct names names = {.symbols = &symbols};
	int err = 0;

	if (file->machine != EM_X86_64 || gelf_getclass(file->elf) != ELFCLASS64 ||
	    !elf_raw_symbols_read(&symbols, file, SHT_DYNSYM))
		return 0;
	names.strings = elf_table_strings(table, file, &symbols);
	if (names.strings)
		err = add_all_stubs(table, file, &names);
	elf_raw_symbols_free(&symbols, file);
	return err;
}
