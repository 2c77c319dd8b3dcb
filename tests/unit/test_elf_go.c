/* SPDX-License-Identifier: MIT */
/* Functions of stripped Go programs, in tables that are made here; real ones: tests/cli/stacks.bats
 */
#include "tests/unit/made_elf.h"

#include <stdio.h>
#include <stdlib.h>

#include "symbolize/elf_syms.h"
#include "tests/unit/made_go.h"
#include "tests/unit/own_folder.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const uint32_t versions[] = {GO_1_2, GO_1_16, GO_1_18, GO_1_20};

/* Go's code begins behind that of C, at 64. */
#define TEXT (MADE_TEXT + 64)
#define TABLE 0x5000 /* the section's address */
static const struct made_go_function functions[] = {
	{0, "main.main"}, {0x100, "runtime.memmove"}, {0x180, "main.(*T[go.shape.int]).m"}};
#define END 0x200

static const char *path(void)
{
	static char text[256];

	snprintf(text, sizeof(text), "%s/program", folder);
	return text;
}

/* Loads the symbols of a program with these sections, the first of which is at TABLE. */
static struct elf_syms *load(const struct made_section *sections, uint32_t count)
{
	const uint64_t address = TABLE;
	struct elf_syms *syms = NULL;
	Elf64_Ehdr header;
	int fd;

	make_elf(path(), sections, count);
	fd = open(path(), O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(pread(fd, &header, sizeof(header), 0), sizeof(header));
	made_write(fd, &address, sizeof(address),
		   header.e_shoff + (MADE_TEXT_INDEX + 1) * sizeof(Elf64_Shdr) +
			   offsetof(Elf64_Shdr, sh_addr));
	assert_int_equal(elf_syms_load(fd, NULL, NULL, &syms), 0);
	close(fd);
	return syms;
}

static void expect_none(struct elf_syms *syms)
{
	assert_int_equal(elf_syms_count(syms), 0);
	elf_syms_free(syms);
}

static struct made_section section(const char *name, const void *data, size_t size)
{
	return (struct made_section){
		.name = name, .type = SHT_PROGBITS, .size = size, .data = data, .flags = SHF_ALLOC};
}

/* Offsets in the file are addresses. */
static const char *name_at(const struct elf_syms *syms, uint64_t address)
{
	struct elf_symbol symbol;

	return elf_syms_find(syms, address, &symbol) ? symbol.name : NULL;
}

static void expect_all(struct elf_syms *syms)
{
	assert_int_equal(elf_syms_count(syms), 3);
	assert_null(name_at(syms, TEXT - 1));
	assert_string_equal(name_at(syms, TEXT), "main.main");
	assert_string_equal(name_at(syms, TEXT + 0xff), "main.main");
	assert_string_equal(name_at(syms, TEXT + 0x100), "runtime.memmove");
	assert_string_equal(name_at(syms, TEXT + 0x17f), "runtime.memmove");
	assert_string_equal(name_at(syms, TEXT + 0x180), "main.(*T[go.shape.int]).m");
	assert_string_equal(name_at(syms, TEXT + END - 1), "main.(*T[go.shape.int]).m");
	assert_null(name_at(syms, TEXT + END));
	elf_syms_free(syms);
}

static void every_version_has_names(void **state)
{
	unsigned char table[MADE_GO_BYTES];

	(void)state;
	for (size_t i = 0; i < COUNT(versions); i++) {
		size_t size = made_go_table(table, versions[i], TEXT, functions, 3, END);
		struct made_section s = section(".gopclntab", table, size);

		expect_all(load(&s, 1));
		s.name = ".data.rel.ro.gopclntab";
		expect_all(load(&s, 1));
	}
}

static void an_external_linker_puts_the_table_anywhere(void **state)
{
	unsigned char data[MADE_GO_BYTES + 4096] = {0};
	struct made_section sections[] = {section(".data.rel.ro", data, sizeof(data)),
					  section(".go.buildinfo", "x", 1)};

	(void)state;
	for (size_t i = 0; i < COUNT(versions); i++) {
		/* a table whose names are outside of the section */
		made_go_table(data, GO_1_20, TEXT, functions, 3, END);
		made_go_put(data, 32, sizeof(data), 8);
		made_go_table(data + 2048, versions[i], TEXT, functions, 3, END);
		expect_all(load(sections, 2));
		/* other programs are not searched */
		expect_none(load(sections, 1));
	}
}

static Elf64_Rela relative(uint64_t at, uint64_t value)
{
	return (Elf64_Rela){
		.r_offset = at, .r_info = R_X86_64_RELATIVE, .r_addend = (Elf64_Sxword)value};
}

static void the_loader_writes_addresses(void **state)
{
	unsigned char table[MADE_GO_BYTES];
	Elf64_Rela list[8];
	struct made_section sections[] = {
		section(".gopclntab", table, sizeof(table)),
		{.name = ".rela.dyn", .type = SHT_RELA, .data = list, .entry_size = sizeof(*list)}};

	(void)state;
	for (size_t i = 0; i < COUNT(versions); i++) {
		uint64_t at = versions[i] == GO_1_2 ? 16 : MADE_GO_FUNCTIONS;
		size_t count = 0;

		made_go_table(table, versions[i], TEXT, functions, 3, END);
		list[count++] = relative(TABLE - 8, 1);
		list[count++] = relative(TABLE + sizeof(table) - 1, 1); /* partly outside */
		if (i >= 2) {                                           /* one address */
			made_go_put(table, 24, 0, 8);
			list[count++] = relative(TABLE + 24, TEXT);
		}
		for (size_t k = 0; i < 2 && k <= 3; k++, at += 16) {
			made_go_put(table, at, 0, 8);
			list[count++] =
				relative(TABLE + at, TEXT + (k < 3 ? functions[k].start : END));
		}
		sections[1].size = count * sizeof(*list);
		expect_all(load(sections, 2));
		/* without that there are no addresses, and no names */
		sections[1].size = 2 * sizeof(*list);
		expect_none(load(sections, 2));
	}
}

static void code_begins_where_the_module_says(void **state)
{
	unsigned char table[MADE_GO_BYTES];
	uint64_t module[23] = {0};
	struct made_section sections[] = {section(".gopclntab", table, sizeof(table)),
					  section(".go.module", module, sizeof(module))};

	(void)state;
	made_go_table(table, GO_1_20, 0, functions, 3, END);
	module[22] = TEXT;
	expect_all(load(sections, 2));
	sections[1].size -= 8;
	expect_none(load(sections, 2));
}

static void symbols_come_first(void **state)
{
	unsigned char table[MADE_GO_BYTES];
	Elf64_Sym symbols[2] = {{0}, made_function(1, 64, 0x20)};
	struct made_section sections[] = {section(".gopclntab", table, sizeof(table)),
					  {.name = ".symtab",
					   .type = SHT_SYMTAB,
					   .link = 4,
					   .size = sizeof(symbols),
					   .data = symbols,
					   .entry_size = sizeof(*symbols)},
					  {.name = ".strtab",
					   .type = SHT_STRTAB,
					   .size = sizeof("\0real"),
					   .data = "\0real"}};
	struct elf_syms *syms;

	(void)state;
	made_go_table(table, GO_1_20, TEXT, functions, 3, END);
	syms = load(sections, 3);
	assert_string_equal(name_at(syms, TEXT), "real");
	assert_int_equal(elf_syms_count(syms), 1);
	elf_syms_free(syms);
	/* exported symbols do not hide other functions */
	sections[1].type = SHT_DYNSYM;
	syms = load(sections, 3);
	assert_string_equal(name_at(syms, TEXT), "real");
	assert_string_equal(name_at(syms, TEXT + 0x100), "runtime.memmove");
	elf_syms_free(syms);
}

/* Counts the named functions when `width` bytes at `at` have this value. */
static uint32_t count_with(uint32_t version, uint64_t at, uint64_t value, size_t width)
{
	unsigned char table[MADE_GO_BYTES];
	struct made_section s = section(".gopclntab", table, sizeof(table));
	struct elf_syms *syms;
	uint32_t count;

	made_go_table(table, version, TEXT, functions, 3, END);
	made_go_put(table, at, value, width);
	syms = load(&s, 1);
	count = elf_syms_count(syms);
	elf_syms_free(syms);
	return count;
}

static void what_is_wrong_ends_the_table(void **state)
{
	const uint64_t list = MADE_GO_FUNCTIONS, described = list + MADE_GO_DESCRIPTIONS;

	(void)state;
	assert_int_equal(count_with(GO_1_20, 8, UINT64_MAX, 8), 3);      /* more than there are */
	assert_int_equal(count_with(GO_1_20, 8, 2, 8), 2);               /* fewer */
	assert_int_equal(count_with(GO_1_20, 0, 0xfffffff2, 4), 0);      /* another version */
	assert_int_equal(count_with(GO_1_20, 4, 1, 1), 0);               /* no header */
	assert_int_equal(count_with(GO_1_20, 7, 4, 1), 0);               /* 32 bits */
	assert_int_equal(count_with(GO_1_20, 24, TEXT + 0x1000, 8), 0);  /* outside of code */
	assert_int_equal(count_with(GO_1_20, 24, UINT64_MAX - 8, 8), 0); /* beyond all addresses */
	assert_int_equal(count_with(GO_1_20, 32, UINT64_MAX, 8), 0);     /* names */
	assert_int_equal(count_with(GO_1_20, 64, UINT64_MAX, 8), 0);     /* functions */
	assert_int_equal(count_with(GO_1_20, list + 8, 0, 4), 0);        /* out of order */
	assert_int_equal(count_with(GO_1_20, list + 16, 0xff, 4), 1);
	assert_int_equal(count_with(GO_1_20, list + 16, UINT32_MAX, 4), 1);
	assert_int_equal(count_with(GO_1_20, list + 12, UINT32_MAX, 4), 2);     /* a description */
	assert_int_equal(count_with(GO_1_20, described + 4, UINT32_MAX, 4), 2); /* a name */
	assert_int_equal(count_with(GO_1_20, described + 4, 0, 4), 2);          /* an empty one */
	assert_int_equal(count_with(GO_1_2, 24, UINT64_MAX, 8), 2);
	assert_int_equal(count_with(GO_1_2, 16, UINT64_MAX, 8), 0);
	assert_int_equal(count_with(GO_1_16, 56, MADE_GO_BYTES - 1, 8), 0);
}

static void tables_end_anywhere(void **state)
{
	unsigned char table[MADE_GO_BYTES];

	(void)state;
	for (size_t i = 0; i < COUNT(versions); i++) {
		made_go_table(table, versions[i], TEXT, functions, 3, END);
		memset(table + MADE_GO_BYTES - 8, 'x', 8);
		for (size_t size = 1; size < MADE_GO_BYTES; size += size < 200 ? 1 : 37) {
			unsigned char *copy = malloc(size); /* exact size, for memory checkers */
			struct made_section s = section(".gopclntab", copy, size);
			struct elf_syms *syms;

			memcpy(copy, table, size);
			syms = load(&s, 1);
			assert_true(elf_syms_count(syms) <= 3);
			elf_syms_free(syms);
			free(copy);
		}
		/* a name without an end has that of the section */
		made_go_put(table,
			    (i == 0 ? 0 : MADE_GO_FUNCTIONS) + MADE_GO_DESCRIPTIONS +
				    (i < 2 ? 8 : 4),
			    MADE_GO_BYTES - 3 - (i == 0 ? 0 : MADE_GO_NAMES), 4);
		{
			struct made_section s = section(".gopclntab", table, MADE_GO_BYTES);
			struct elf_syms *syms = load(&s, 1);

			assert_string_equal(name_at(syms, TEXT), "xxx");
			elf_syms_free(syms);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_version_has_names),
		cmocka_unit_test(an_external_linker_puts_the_table_anywhere),
		cmocka_unit_test(the_loader_writes_addresses),
		cmocka_unit_test(code_begins_where_the_module_says),
		cmocka_unit_test(symbols_come_first),
		cmocka_unit_test(what_is_wrong_ends_the_table),
		cmocka_unit_test(tables_end_anywhere),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
