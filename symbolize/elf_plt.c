/* SPDX-License-Identifier: MIT */
/*
 * Names for the stubs of the procedure linkage table (x86-64 psABI, 5.2.4).
 *
 * A stub jumps through a slot of the global offset table, "jmp *disp(%rip)", and a relocation tells
 * whose address the dynamic linker puts in that slot. Reading the jump, instead of counting stubs,
 * serves all layouts: .plt with lazy binding, .plt.sec with IBT, and .plt.got.
 */
#include "symbolize/elf_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_RELOCATIONS (256u << 20) /* bytes */
#define STUB_SIZE 16
#define SHORT_STUB_SIZE 8 /* in .plt.got without IBT */

struct slot {
	uint64_t address; /* of the GOT entry */
	uint32_t symbol;  /* in .dynsym */
};

struct slots {
	struct slot *list;
	size_t count;
};

static int compare_slots(const void *a, const void *b)
{
	const struct slot *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

static int add_slots(struct slots *slots, Elf_Data *data, size_t count)
{
	struct slot *bigger = realloc(slots->list, (slots->count + count) * sizeof(*bigger));

	if (!bigger)
		return -ENOMEM;
	slots->list = bigger;
	for (size_t i = 0; i < count; i++) {
		GElf_Rela rela;
		uint32_t type;

		if (!gelf_getrela(data, (int)i, &rela))
			continue;
		type = (uint32_t)GELF_R_TYPE(rela.r_info);
		if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT)
			continue;
		slots->list[slots->count++] = (struct slot){
			.address = rela.r_offset,
			.symbol = (uint32_t)GELF_R_SYM(rela.r_info),
		};
	}
	return 0;
}

static int read_slots(struct slots *slots, const struct elf_file *file)
{
	uint64_t budget = file->size < MAX_RELOCATIONS ? file->size : MAX_RELOCATIONS;
	Elf_Scn *scn = NULL;
	GElf_Shdr header;

	while ((scn = elf_nextscn(file->elf, scn))) {
		Elf_Data *data;
		size_t count;
		int err;

		/* A hostile file may have many such sections, all over the same bytes. */
		if (!gelf_getshdr(scn, &header) || header.sh_type != SHT_RELA ||
		    !elf_file_has_contents(file, &header) || header.sh_size > budget)
			continue;
		budget -= header.sh_size;
		data = elf_getdata(scn, NULL);
		if (!data || !data->d_buf || data->d_type != ELF_T_RELA)
			continue;
		count = data->d_size / sizeof(Elf64_Rela);
		if (count == 0)
			continue;
		err = add_slots(slots, data, count);
		if (err)
			return err;
	}
	if (slots->count > 0)
		qsort(slots->list, slots->count, sizeof(*slots->list), compare_slots);
	return 0;
}

/* The GOT slot that the stub at `address` jumps through; 0 when it does not. */
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
	Elf_Data *symbols;
	const char *strings;
	size_t strings_size;
};

static const char *name_of_slot(const struct slots *slots, uint64_t address,
				const struct names *names)
{
	struct slot key = {.address = address};
	const struct slot *slot;
	GElf_Sym symbol;

	if (address == 0 || slots->count == 0)
		return NULL;
	slot = bsearch(&key, slots->list, slots->count, sizeof(key), compare_slots);
	if (!slot || slot->symbol > INT32_MAX ||
	    !gelf_getsym(names->symbols, (int)slot->symbol, &symbol) ||
	    symbol.st_name >= names->strings_size || names->strings[symbol.st_name] == '\0')
		return NULL;
	return names->strings + symbol.st_name;
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
		if (stub.name)
			err = elf_table_push(table, &stub);
	}
	free(code);
	return err;
}

int elf_table_add_plt(struct elf_table *table, const struct elf_file *file)
{
	static const char *const sections[] = {".plt", ".plt.sec", ".plt.got"};
	GElf_Shdr header, strings_header;
	struct slots slots = {0};
	struct names names;
	char *strings;
	Elf_Scn *scn;
	int err;

	if (file->machine != EM_X86_64 || gelf_getclass(file->elf) != ELFCLASS64 ||
	    table->string_count == ELF_TABLE_STRINGS)
		return 0;
	scn = elf_file_find_section(file, SHT_DYNSYM, NULL, &header);
	if (!scn || !elf_file_has_contents(file, &header) ||
	    !gelf_getshdr(elf_getscn(file->elf, header.sh_link), &strings_header))
		return 0;
	names.symbols = elf_getdata(scn, NULL);
	if (!names.symbols || !names.symbols->d_buf || names.symbols->d_type != ELF_T_SYM)
		return 0;
	strings = elf_file_read_section(file, &strings_header);
	if (!strings)
		return 0;
	table->strings[table->string_count++] = strings;
	names.strings = strings;
	names.strings_size = strings_header.sh_size;
	err = read_slots(&slots, file);
	for (size_t i = 0; i < sizeof(sections) / sizeof(*sections) && !err; i++)
		err = add_stubs(table, file, sections[i], &slots, &names);
	free(slots.list);
	return err;
}
