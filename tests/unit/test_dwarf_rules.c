/* SPDX-License-Identifier: MIT */
/*
 * DWARF as compilers do not write it: a library with one unit, written by hand for the assembler
 * ($CC or cc), and files that are broken afterwards.
 */
#include <elf.h>
#include "unit.h"
#include "symbolize/dwarf.h"
#include "tests/unit/own_folder.h"

/* The sizes of what follows, so that a test's own entries fit in between. */
static const char head[] =
	/* each 16 bytes of code */
	"	.text\n"
	"f:	.fill 16, 1, 0x90\n"
	"g:	.fill 16, 1, 0x90\n"
	"h:	.fill 16, 1, 0x90\n"
	"	.section .debug_abbrev,\"\",@progbits\n"
	/* 1: a unit; 2: a function with children; 3: one without; 4: a block with children */
	"	.uleb128 1, 0x11\n	.byte 1\n	.uleb128 0x11, 1, 0x12, 6, 0, 0\n"
	"	.uleb128 2, 0x2e\n	.byte 1\n	.uleb128 3, 8, 0x11, 1, 0x12, 6, 0, 0\n"
	"	.uleb128 3, 0x2e\n	.byte 0\n	.uleb128 3, 8, 0x11, 1, 0x12, 6, 0, 0\n"
	"	.uleb128 4, 0x0b\n	.byte 1\n	.uleb128 0, 0\n"
	/* 5: a function whose name is that of its origin; 6: a structure with children */
	"	.uleb128 5, 0x2e\n	.byte 0\n	.uleb128 0x31, 0x13, 0x11, 1, 0x12, 6, 0, "
	"0\n"
	"	.uleb128 6, 0x13\n	.byte 1\n	.uleb128 0, 0\n"
	/* 7: an inlined copy, with children; 8: a declaration with an origin */
	"	.uleb128 7, 0x1d\n	.byte 1\n	.uleb128 0x31, 0x13, 0x11, 1, 0x12, 6, 0, "
	"0\n"
	"	.uleb128 8, 0x2e\n	.byte 0\n	.uleb128 0x31, 0x13, 0, 0\n"
	"	.byte 0\n"
	"	.section .debug_info,\"\",@progbits\n"
	"unit:	.long end - begin\n"
	"begin:	.value 4\n	.long 0\n	.byte 8\n"
	"	.uleb128 1\n	.quad f\n	.long 48\n";
static const char tail[] = "	.byte 0\n"
			   "end:\n"
			   "	.section .note.GNU-stack,\"\",@progbits\n";

/* A function of 16 bytes at a label, with children (2) or without (3). */
#define FUNCTION(kind, label)                                                             \
	"	.uleb128 " #kind "\n	.asciz \"" label "\"\n	.quad " label "\n	.long " \
	"16\n"

static char path[256];
static uint64_t code_at; /* the address of f */

/* Builds library.so with these entries in its unit. */
static void make_library(const char *entries, const char *options)
{
	size_t size = sizeof(head) + strlen(entries) + sizeof(tail);
	char *source = malloc(size), line[64];
	FILE *nm;

	assert_non_null(source);
	snprintf(source, size, "%s%s%s", head, entries, tail);
	write_text("library.S", source);
	free(source);
	shell("${CC:-cc} -shared -nostdlib %s -o library.so library.S", options);
	snprintf(path, sizeof(path), "%s/library.so", folder);
	snprintf(line, sizeof(line), "nm %.40s/library.so", folder);
	nm = popen(line, "r");
	assert_non_null(nm);
	code_at = 0;
	while (fgets(line, sizeof(line), nm))
		if (strstr(line, " t f\n"))
			code_at = strtoull(line, NULL, 16);
	pclose(nm);
	assert_int_not_equal(code_at, 0);
}

static int load(struct quota_share *share, struct dwarf **dwarf)
{
	struct debug_file_search search = {.path = "/nonexistent/file", .root = "/nonexistent"};
	int fd = open(path, O_RDONLY | O_CLOEXEC), err;

	assert_true(fd >= 0);
	err = dwarf_load(fd, &search, share, dwarf);
	close(fd);
	return err;
}

/* Returns the functions at f, g or h (0, 1, 2) as "outer;inner". A function without a name is
 * "?". */
static const char *at(int function)
{
	static char text[1024];
	const char *names[DWARF_MAX_DEPTH];
	struct dwarf *dwarf;
	size_t count, used = 0;

	assert_int_equal(load(NULL, &dwarf), 0);
	count = dwarf_find(dwarf, NULL, code_at + 16 * (uint64_t)function + 3, names);
	text[0] = '\0';
	for (size_t i = 0; i < count; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", i ? ";" : "",
					 names[i] ? names[i] : "?");
	dwarf_free(dwarf);
	return text;
}

static void functions_and_copies(void **state)
{
	(void)state;
	make_library(
		"inner:	.uleb128 3\n	.asciz \"inner\"\n	.quad 0\n	.long 0\n" FUNCTION(
			2,
			"f") "	.uleb128 4\n" /* the attribute is a block */
			     "	.uleb128 7\n	.long inner - unit\n	.quad f\n	.long 8\n"
			     "	.byte 0, 0, 0\n" FUNCTION(3, "g"),
		"");
	assert_string_equal(at(0), "f;inner");
	assert_string_equal(at(1), "g");
	assert_string_equal(at(2), "");
}

/* The linker has dropped its code, and put 0 where its address was. */
static void dropped_functions_cover_nothing(void **state)
{
	(void)state;
	make_library(FUNCTION(3, "f") "	.uleb128 3\n	.asciz \"dropped\"\n	.quad 0\n	"
				      ".long 0x100000\n",
		     "");
	assert_string_equal(at(0), "f");
	assert_string_equal(at(1), "");
}

/* A function among another's entries, or in a structure there, is one of its own. */
static void local_functions_are_not_inlined(void **state)
{
	(void)state;
	make_library(FUNCTION(2, "f") FUNCTION(3, "g") "	.uleb128 6\n" FUNCTION(
			     3, "h") "	.byte 0, 0\n",
		     "");
	assert_string_equal(at(0), "f");
	assert_string_equal(at(1), "g");
	assert_string_equal(at(2), "h");
	/* nor is what is inlined in a structure part of the function */
	make_library(
		"inner:	.uleb128 3\n	.asciz \"inner\"\n	.quad 0\n	.long 0\n" FUNCTION(
			2,
			"f") "	.uleb128 6\n"
			     "	.uleb128 7\n	.long inner - unit\n	.quad f\n	.long 8\n"
			     "	.byte 0, 0, 0\n",
		"");
	assert_string_equal(at(0), "f");
}

static void names_of_origins(void **state)
{
	(void)state;
	make_library("named:	.uleb128 3\n	.asciz \"named\"\n	.quad 0\n	.long 0\n"
		     "middle:	.uleb128 8\n	.long named - unit\n"
		     "	.uleb128 5\n	.long middle - unit\n	.quad f\n	.long 16\n"
		     /* a circle of references */
		     "one:	.uleb128 8\n	.long two - unit\n"
		     "two:	.uleb128 8\n	.long one - unit\n"
		     "	.uleb128 5\n	.long one - unit\n	.quad g\n	.long 16\n",
		     "");
	assert_string_equal(at(0), "named");
	assert_string_equal(at(1), "?");
}

static void nesting_is_limited(void **state)
{
	char entries[1024];

	(void)state;
	for (int more = -10; more <= 10; more += 20) {
		snprintf(entries, sizeof(entries),
			 FUNCTION(3, "f") "	.rept %d\n	.uleb128 4\n	.endr\n"
					  "	.fill %d, 1, 0\n" FUNCTION(3, "g"),
			 DWARF_MAX_NESTING + more, DWARF_MAX_NESTING + more);
		make_library(entries, "");
		assert_string_equal(at(0), "f");
		assert_string_equal(at(1), more < 0 ? "g" : "");
	}
}

static void what_unpacks_to_too_much(void **state)
{
	struct quota_share share;
	struct dwarf *dwarf;
	int err;

	(void)state;
	make_library(FUNCTION(3, "f"), "");
	shell("dd if=/dev/zero of=zeros bs=1M count=8 status=none &&"
	      " objcopy --add-section .debug_zeros=zeros library.so &&"
	      " objcopy --compress-debug-sections=zlib-gabi library.so");
	for (uint64_t mib = 4; mib <= 12; mib += 8) {
		quota_share_open(&share, mib << 20);
		err = load(&share, &dwarf);
		quota_share_close(&share);
		assert_int_equal(err, mib < 8 ? -ENOSPC : 0);
		if (!err)
			dwarf_free(dwarf);
	}
}

/* Writes `value` into the header of the last section whose name begins with .debug_. */
static void break_section(size_t member, uint64_t value)
{
	Elf64_Ehdr header;
	Elf64_Shdr section, names;
	char name[8];
	off_t found = 0;
	int fd = open(path, O_RDWR | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(pread(fd, &header, sizeof(header), 0), sizeof(header));
	assert_int_equal(pread(fd, &names, sizeof(names),
			       (off_t)(header.e_shoff + header.e_shstrndx * sizeof(names))),
			 sizeof(names));
	for (size_t i = 1; i < header.e_shnum; i++) {
		off_t place = (off_t)(header.e_shoff + i * sizeof(section));

		assert_int_equal(pread(fd, &section, sizeof(section), place), sizeof(section));
		if (pread(fd, name, 7, (off_t)(names.sh_offset + section.sh_name)) == 7 &&
		    memcmp(name, ".debug_", 7) == 0)
			found = place;
	}
	assert_true(found > 0);
	assert_int_equal(pwrite(fd, &value, sizeof(value), found + (off_t)member), sizeof(value));
	close(fd);
}

static void sections_outside_the_file(void **state)
{
	struct dwarf *dwarf;

	(void)state;
	make_library(FUNCTION(3, "f"), "");
	break_section(offsetof(Elf64_Shdr, sh_size), 1 << 20);
	assert_int_equal(load(NULL, &dwarf), -ENOEXEC);
	make_library(FUNCTION(3, "f"), "");
	break_section(offsetof(Elf64_Shdr, sh_offset), UINT64_MAX - 4);
	assert_int_equal(load(NULL, &dwarf), -ENOEXEC);
	/* a broken section that libdw does not know is refused, too */
	make_library(FUNCTION(3, "f"), "");
	shell("objcopy --add-section .debug_other=library.S library.so");
	assert_int_equal(load(NULL, &dwarf), 0);
	dwarf_free(dwarf);
	break_section(offsetof(Elf64_Shdr, sh_size), 1 << 20);
	assert_int_equal(load(NULL, &dwarf), -ENOEXEC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_and_copies),
		cmocka_unit_test(dropped_functions_cover_nothing),
		cmocka_unit_test(local_functions_are_not_inlined),
		cmocka_unit_test(names_of_origins),
		cmocka_unit_test(nesting_is_limited),
		cmocka_unit_test(what_unpacks_to_too_much),
		cmocka_unit_test(sections_outside_the_file),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
