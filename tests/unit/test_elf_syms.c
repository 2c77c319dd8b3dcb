/* SPDX-License-Identifier: MIT */
/*
 * Programs are compiled here by the C compiler ($CC or cc), in a temporary folder; "oracle" offsets
 * come from symbols whose addresses the test reads itself.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "symbolize/elf_syms.h"
#include "unit.h"
#include "tests/unit/own_folder.h"

static struct elf_syms *load_with_root(const char *name, const char *root)
{
	struct elf_syms *syms = NULL;
	char path[256], debug[256];
	struct debug_file_search search = {.path = path, .root = debug};
	int fd, err;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	snprintf(debug, sizeof(debug), "%s/%s", folder, root);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	err = elf_syms_load(fd, &search, NULL, &syms);
	close(fd); /* all that follows has to work without it */
	return err ? NULL : syms;
}

static struct elf_syms *load(const char *name)
{
	return load_with_root(name, "nothing");
}

/* Returns the file offset of a symbol, from nm and readelf's program headers. */
static uint64_t offset_of(const char *file, const char *symbol)
{
	char command[1024];
	unsigned long address = 0, offset, at, size;
	bool found = false;
	FILE *pipe;

	snprintf(command, sizeof(command),
		 "cd %s && (nm %s; nm -D %s) 2>/dev/null | awk '$3 == \"%s\" {print $1; exit}'",
		 folder, file, file, symbol);
	pipe = popen(command, "r");
	assert_non_null(pipe);
	if (fscanf(pipe, "%lx", &address) != 1)
		fail_msg("%s has no %s", file, symbol);
	pclose(pipe);
	snprintf(command, sizeof(command),
		 "cd %s && readelf -lW %s | awk '$1 == \"LOAD\" {print $2, $3, $5}'", folder, file);
	pipe = popen(command, "r");
	assert_non_null(pipe);
	while (fscanf(pipe, "%lx %lx %lx", &offset, &at, &size) == 3) {
		if (address >= at && address < at + size && !found) {
			found = true;
			address = address - at + offset;
		}
	}
	pclose(pipe);
	assert_true(found);
	return address;
}

static void expect_name(const struct elf_syms *syms, uint64_t offset, const char *name)
{
	struct elf_symbol symbol;

	if (!elf_syms_find(syms, offset, &symbol))
		fail_msg("nothing at %#lx instead of %s", (unsigned long)offset, name);
	assert_string_equal(symbol.name, name);
	assert_true(symbol.index < elf_syms_count(syms));
}

static void expect_nothing(const struct elf_syms *syms, uint64_t offset)
{
	struct elf_symbol symbol;

	if (elf_syms_find(syms, offset, &symbol))
		fail_msg("%s at %#lx", symbol.name, (unsigned long)offset);
}

static const char program[] = "int data = 5;\n"
			      "__attribute__((noinline)) static int hidden(int x)"
			      " { __asm__ volatile(\"\"); return x * data; }\n"
			      "__attribute__((noinline)) int visible(int x)"
			      " { __asm__ volatile(\"\"); return hidden(x) + 1; }\n"
			      "int puts(const char *);\n"
			      "int main(void) { return visible(data) + puts(\"\"); }\n";

static void check_program(const char *name)
{
	struct elf_syms *syms = load(name);

	assert_non_null(syms);
	expect_name(syms, offset_of(name, "main"), "main");
	expect_name(syms, offset_of(name, "visible"), "visible");
	expect_name(syms, offset_of(name, "visible") + 1, "visible");
	expect_name(syms, offset_of(name, "hidden"), "hidden");
	expect_nothing(syms, offset_of(name, "data"));
	expect_nothing(syms, UINT64_MAX);
	expect_nothing(syms, 0);
	elf_syms_free(syms);
}

static void test_pie_and_not(void **state)
{
	(void)state;
	write_text("program.c", program);
	shell("${CC:-cc} -O1 -fPIE -pie program.c -o pie");
	check_program("pie");
	shell("${CC:-cc} -O1 -fno-pie -no-pie program.c -o fixed");
	check_program("fixed");
	shell("${CC:-cc} -O1 -fno-pie -no-pie -Wl,-Ttext-segment=0x7000000 program.c -o moved");
	check_program("moved");
	shell("${CC:-cc} -O1 -fPIC -shared -Wl,-z,noseparate-code program.c -o lib.so");
	check_program("lib.so");
}

static void test_stubs(void **state)
{
	static const char *const flags[] = {"-Wl,-z,lazy", "-Wl,-z,now -fcf-protection",
					    "-Wl,-z,lazy -fcf-protection -Wl,-z,ibtplt"};

	(void)state;
	write_text("program.c", program);
	for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++) {
		struct elf_symbol symbol;
		struct elf_syms *syms;
		unsigned int stubs = 0;

		shell("${CC:-cc} -O1 %s program.c -o stubs", flags[i]);
		syms = load("stubs");
		assert_non_null(syms);
		for (uint64_t offset = 0; offset < 0x4000; offset++)
			if (elf_syms_find(syms, offset, &symbol) && symbol.is_plt &&
			    strncmp(symbol.name, "puts", 4) == 0)
				stubs++;
#ifdef __x86_64__
		assert_int_equal(stubs, 16);
#endif
		elf_syms_free(syms);
	}
}

static const char assembly[] =
	"	.text\n"
	"	.macro sized name, size\n"
	"	.type \\name, @function\n"
	"	.size \\name, \\size\n"
	"	.endm\n"
	"	.globl base\nbase:\n	sized base, 16\n	.fill 16, 1, 0x90\n"
	"gap:\n	.type gap_end, @notype\n	.fill 16, 1, 0x90\n"
	/* global > weak > local */
	"	.weak w1\n	.globl zzz_global\n"
	"w1:\naaa_local:\nzzz_global:\n"
	"	sized w1, 16\n	sized aaa_local, 16\n	sized zzz_global, 16\n"
	"	.fill 16, 1, 0x90\n"
	/* fewer underscores, then shorter, then the alphabet */
	"	.globl __libc_x\n	.globl xlonger\n	.globl xb\n	.globl xa\n	"
	".globl _x\n"
	"__libc_x:\nxlonger:\nxb:\nxa:\n_x:\n"
	"	sized __libc_x, 16\n	sized xlonger, 16\n	sized xb, 16\n	sized xa, 16\n"
	"	sized _x, 16\n	.fill 16, 1, 0x90\n"
	/* a name from one alias, the size from another */
	"	.globl unsized_global\n"
	"unsized_global:\nsized_local:\n	.type unsized_global, @function\n"
	"	sized sized_local, 8\n	.fill 16, 1, 0x90\n"
	/* a label inside a function does not split it; a function inside does */
	"	.globl outer\nouter:\n	sized outer, 48\n	.fill 16, 1, 0x90\n"
	"label_inside:\n	.fill 8, 1, 0x90\n"
	"inner:\n	sized inner, 8\n	.fill 8, 1, 0x90\n"
	"	.fill 16, 1, 0x90\n"
	/* without a size: to the next symbol, to the section's end */
	"	.type open1, @function\nopen1:\n	.fill 16, 1, 0x90\n"
	"	.type open2, @function\nopen2:\n	.fill 16, 1, 0x90\n"
	"the_end:\n"
	"	.section .note.GNU-stack,\"\",@progbits\n";

static void test_choice_of_names(void **state)
{
	struct elf_syms *syms;
	uint64_t base;

	(void)state;
	write_text("aliases.S", assembly);
	shell("${CC:-cc} -nostdlib -nostartfiles -shared aliases.S -o aliases.so");
	syms = load("aliases.so");
	assert_non_null(syms);
	base = offset_of("aliases.so", "base");
	expect_name(syms, base, "base");
	expect_name(syms, base + 15, "base");
	expect_name(syms, base + 16, "gap"); /* a label, where nothing else is */
	expect_name(syms, base + 31, "gap");
	expect_name(syms, base + 32, "zzz_global");
	expect_name(syms, base + 48, "xa");
	expect_name(syms, base + 64, "unsized_global");
	expect_name(syms, base + 71, "unsized_global");
	expect_nothing(syms, base + 72);
	expect_name(syms, base + 80, "outer");
	expect_name(syms, base + 96, "outer");
	expect_name(syms, base + 104, "inner");
	expect_name(syms, base + 112, "outer");
	expect_name(syms, base + 127, "outer");
	expect_name(syms, base + 128, "open1");
	expect_name(syms, base + 144, "open2");
	expect_name(syms, base + 159, "open2");
	expect_nothing(syms, base + 160);
	elf_syms_free(syms);
}

/*
 * Symbols without a size in code of which only parts are described by .eh_frame: 256 bytes from
 * `base` on, of which [32, 64), [128, 160) and [224, 256) are described.
 */
static const char unsized[] =
	"	.text\n	.p2align 5\n	.globl base\n"
	"base:\n	.type base, @function\n	.size base, 16\n	.fill 32, 1, 0x90\n"
	/* described from its beginning on: 32 to 64, and nothing after it */
	"	.globl described\n	.type described, @function\n"
	"described:\n	.cfi_startproc\n	.fill 32, 1, 0x90\n	.cfi_endproc\n"
	"	.fill 32, 1, 0x90\n"
	/* not described: 96 bytes up to the next function, at 128 */
	"	.globl bare_function\n	.type bare_function, @function\n"
	"bare_function:\n	.fill 16, 1, 0x90\n"
	"	.globl bare_label\nbare_label:\n	.fill 16, 1, 0x90\n"
	"hidden:\n	.type hidden, @function\n	.size hidden, 16\n"
	"	.cfi_startproc\n	.fill 16, 1, 0x90\n"
	/* begins within a description: 144 to its end */
	"	.globl within\nwithin:\n	.fill 16, 1, 0x90\n	.cfi_endproc\n"
	"	.fill 32, 1, 0x90\n"
	/* not described: 192 bytes up to a function without a name */
	"	.globl before_nameless\nbefore_nameless:\n	.fill 32, 1, 0x90\n"
	"	.cfi_startproc\n	.fill 32, 1, 0x90\n	.cfi_endproc\n"
	/* 256, to the section's end */
	"	.globl last\n	.type last, @function\nlast:\n	.fill 8192, 1, 0x90\n"
	"	.section .note.GNU-stack,\"\",@progbits\n";

static void a_symbol_without_a_size_ends_with_its_function(void **state)
{
	static const struct {
		const char *file;
		const char *at[8]; /* at 96, 111, 112, 113, 192, 193, 256 + 4095, 256 + 4096 */
	} expected[] = {
		{"unsized.so",
		 {"bare_function", "bare_function", "bare_label", "bare_label", "before_nameless",
		  "before_nameless", "last", "last"}},
		{"unsized-stripped.so",
		 {"bare_function", "bare_function", "bare_label", NULL, "before_nameless", NULL,
		  "last", NULL}},
	};
	static const uint64_t at[] = {96, 111, 112, 113, 192, 193, 256 + 4095, 256 + 4096};
	struct elf_syms *syms;
	uint64_t base, start, from;

	(void)state;
	write_text("unsized.S", unsized);
	shell("${CC:-cc} -nostdlib -nostartfiles -shared unsized.S -o unsized.so && "
	      "strip -o unsized-stripped.so unsized.so");
	base = offset_of("unsized.so", "base");
	for (size_t i = 0; i < 2; i++) {
		syms = load(expected[i].file);
		assert_non_null(syms);
		expect_nothing(syms, base + 16);
		expect_name(syms, base + 32, "described");
		expect_name(syms, base + 63, "described");
		expect_nothing(syms, base + 64);
		expect_nothing(syms, base + 95);
		for (size_t k = 0; k < 8; k++) {
			if (expected[i].at[k])
				expect_name(syms, base + at[k], expected[i].at[k]);
			else
				expect_nothing(syms, base + at[k]);
		}
		expect_name(syms, base + 144, "within");
		expect_name(syms, base + 159, "within");
		expect_nothing(syms, base + 160);
		expect_nothing(syms, base + 224);
		/* functions without names are still told apart */
		assert_true(elf_syms_address(syms, base, &from));
		assert_false(elf_syms_function(syms, base + 223, &start));
		assert_true(elf_syms_function(syms, base + 224, &start));
		assert_int_equal(start, from + 224);
		assert_true(elf_syms_function(syms, base + 255, &start));
		assert_int_equal(start, from + 224);
		assert_false(elf_syms_function(syms, base + 256, &start));
		assert_true(elf_syms_function(syms, base + 159, &start));
		assert_int_equal(start, from + 128);
		elf_syms_free(syms);
	}
}

static void test_stripped_files(void **state)
{
	struct elf_syms *syms;
	uint64_t hidden, visible;

	(void)state;
	write_text("program.c", program);
	shell("${CC:-cc} -O1 -fPIC -shared -Wl,--build-id program.c -o full.so");
	hidden = offset_of("full.so", "hidden");
	visible = offset_of("full.so", "visible");
	shell("objcopy --only-keep-debug full.so full.debug && strip -o bare.so full.so");

	/* The stripped file has its dynamic symbols alone. */
	syms = load("bare.so");
	assert_non_null(syms);
	expect_name(syms, visible, "visible");
	expect_nothing(syms, hidden);
	elf_syms_free(syms);

	/* A debug file is found by its build id. */
	shell("id=$(readelf -n full.so | awk '/Build ID/ {print $3}') &&"
	      " d=root/.build-id/$(echo $id | cut -c1-2) && mkdir -p $d &&"
	      " cp full.debug $d/$(echo $id | cut -c3-).debug");
	syms = load_with_root("bare.so", "root");
	expect_name(syms, hidden, "hidden");
	expect_name(syms, visible, "visible");
	elf_syms_free(syms);

	/* A file with another build id at that place is refused. */
	shell("${CC:-cc} -O1 -fPIC -shared -Wl,--build-id=0x1234567812345678 program.c -o other.so "
	      "&&"
	      " for f in root/.build-id/*/*.debug; do cp other.so $f; done");
	syms = load_with_root("bare.so", "root");
	expect_nothing(syms, hidden);
	elf_syms_free(syms);
}

static void test_debuglink(void **state)
{
	static const char *const places[] = {".", ".debug", "links$PWD"};
	uint64_t hidden;

	(void)state;
	write_text("program.c", program);
	shell("${CC:-cc} -O1 -fPIC -shared -Wl,--build-id=none program.c -o l.so &&"
	      " objcopy --only-keep-debug l.so l.debug &&"
	      " objcopy --strip-all --add-gnu-debuglink=l.debug l.so linked.so && mv l.debug away");
	hidden = offset_of("l.so", "hidden");
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		struct elf_syms *syms;

		shell("mkdir -p %s && cp away %s/l.debug", places[i], places[i]);
		syms = load_with_root("linked.so", "links");
		expect_name(syms, hidden, "hidden");
		elf_syms_free(syms);

		/* One more byte, and the checksum is another. */
		shell("echo >>%s/l.debug", places[i]);
		syms = load_with_root("linked.so", "links");
		expect_nothing(syms, hidden);
		elf_syms_free(syms);
		shell("rm %s/l.debug", places[i]);
	}
}

static void test_mini_debuginfo(void **state)
{
	struct elf_syms *syms;

	(void)state;
	write_text("program.c", program);
	if (system("which xz >/dev/null 2>&1") != 0)
		SKIP("xz is not installed");
	shell("${CC:-cc} -O1 -fPIC -shared program.c -o m.so && objcopy --only-keep-debug m.so "
	      "m.mini &&"
	      " objcopy -S m.mini m.mini --keep-symbol=hidden 2>/dev/null; xz -kf m.mini &&"
	      " objcopy --strip-all --add-section .gnu_debugdata=m.mini.xz m.so mini.so");
	syms = load("mini.so");
	assert_non_null(syms);
	expect_name(syms, offset_of("m.so", "hidden"), "hidden");
	expect_name(syms, offset_of("m.so", "visible"), "visible");
	elf_syms_free(syms);
}

static void test_vdso_from_memory(void **state)
{
	const char *image = (const char *)(uintptr_t)getauxval(AT_SYSINFO_EHDR);
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)image;
	struct elf_syms *syms = NULL;
	unsigned int found = 0;
	size_t size;

	(void)state;
	if (!image)
		SKIP("this process has no vDSO (valgrind hides it)");
	size = header->e_shoff + (size_t)header->e_shnum * header->e_shentsize;
	assert_int_equal(elf_syms_load_memory(image, size, &syms), 0);
	for (uint64_t offset = 0; offset < size; offset++) {
		struct elf_symbol symbol;

		found += elf_syms_find(syms, offset, &symbol) &&
			 strstr(symbol.name, "clock_gettime") != NULL;
	}
	assert_true(found > 10);
	elf_syms_free(syms);
}

/* ---- hostile input ---- */

static int load_bytes(const void *bytes, size_t size)
{
	struct elf_syms *syms = NULL;
	int fd = memfd_create("elf", MFD_CLOEXEC), err;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, size), size);
	err = elf_syms_load(fd, NULL, NULL, &syms);
	if (!err) {
		struct elf_symbol symbol;

		for (uint64_t offset = 0; offset < size; offset += 7)
			if (elf_syms_find(syms, offset, &symbol))
				assert_true(strlen(symbol.name) <= size);
		elf_syms_free(syms);
	}
	close(fd);
	return err;
}

static unsigned char *read_file(const char *name, size_t *size)
{
	char path[256];
	unsigned char *bytes;
	struct stat st;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	*size = (size_t)st.st_size;
	bytes = malloc(*size);
	assert_int_equal(read(fd, bytes, *size), *size);
	close(fd);
	return bytes;
}

static void test_not_elf(void **state)
{
	struct elf_syms *syms;
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	(void)state;
	assert_int_equal(load_bytes("", 0), -ENOEXEC);
	assert_int_equal(load_bytes("\177ELF", 4), -ENOEXEC);
	assert_int_equal(load_bytes("#!/bin/sh\necho\n", 15), -ENOEXEC);
	assert_int_equal(load_bytes("!<arch>\n", 8), -ENOEXEC);
	assert_true(elf_syms_load(fd, NULL, NULL, &syms) < 0);
	close(fd);
	assert_int_equal(elf_syms_load(-1, NULL, NULL, &syms), -EBADF);
	elf_syms_free(NULL);
}

static void test_truncated_files(void **state)
{
	unsigned char *bytes;
	size_t size;

	(void)state;
	write_text("program.c", program);
	shell("${CC:-cc} -O1 program.c -o whole");
	bytes = read_file("whole", &size);
	assert_int_equal(load_bytes(bytes, size), 0);
	for (size_t length = 0; length < size; length += 1 + length / 40)
		load_bytes(bytes, length);
	for (size_t length = size - 2000; length < size; length += 13)
		load_bytes(bytes, length);
	free(bytes);
}

/* Every field of every header, one after the other, with values that hurt. */
static void test_absurd_headers(void **state)
{
	static const uint64_t values[] = {
		0,          1,         0x40,       0x7fffffff,  0xffffffff,
		1ull << 40, INT64_MAX, UINT64_MAX, 0xfffffffff, UINT64_MAX - 0xfff};
	unsigned char *bytes, *broken;
	Elf64_Ehdr header;
	size_t size;

	(void)state;
	write_text("program.c", program);
	shell("${CC:-cc} -O1 -Wl,-z,noseparate-code program.c -o whole");
	bytes = read_file("whole", &size);
	broken = malloc(size);
	memcpy(&header, bytes, sizeof(header));
	for (size_t v = 0; v < sizeof(values) / sizeof(*values); v++) {
		/* under valgrind, each value is tried at other fields */
		for (size_t at = 16 + 4 * (v % unit_stride()); at + 8 <= size;
		     at += 4 * unit_stride()) {
			size_t end = header.e_shoff + header.e_shnum * sizeof(Elf64_Shdr);
			bool in_headers =
				at < header.e_phoff + header.e_phnum * sizeof(Elf64_Phdr) ||
				(at >= header.e_shoff && at < end);

			if (!in_headers)
				continue;
			memcpy(broken, bytes, size);
			memcpy(broken + at, &values[v], at % 8 ? 4 : 8);
			load_bytes(broken, size);
		}
	}
	free(broken);
	free(bytes);
}

static void test_sections_that_share_and_loop(void **state)
{
	unsigned char *bytes;
	Elf64_Ehdr header;
	Elf64_Shdr *sections;
	size_t size;

	(void)state;
	write_text("program.c", program);
	shell("${CC:-cc} -O1 program.c -o whole");
	bytes = read_file("whole", &size);
	memcpy(&header, bytes, sizeof(header));
	sections = (Elf64_Shdr *)(void *)(bytes + header.e_shoff);
	for (unsigned int type = 0; type < 20; type++) {
		for (unsigned int i = 1; i < header.e_shnum; i++) {
			sections[i].sh_type = type;
			sections[i].sh_link = i; /* the section is its own string table */
			sections[i].sh_offset = 0;
			sections[i].sh_size = size;
		}
		load_bytes(bytes, size);
	}
	free(bytes);
}

/* A sparse file that claims a terabyte must not be read or allocated. */
static void test_sparse_file(void **state)
{
	struct elf_syms *syms = NULL;
	unsigned char *bytes;
	Elf64_Ehdr header;
	Elf64_Shdr *sections;
	size_t size;
	int fd;

	(void)state;
	write_text("program.c", program);
	shell("${CC:-cc} -O1 program.c -o whole");
	bytes = read_file("whole", &size);
	memcpy(&header, bytes, sizeof(header));
	sections = (Elf64_Shdr *)(void *)(bytes + header.e_shoff);
	for (unsigned int i = 0; i < header.e_shnum; i++)
		if (sections[i].sh_type == SHT_SYMTAB || sections[i].sh_type == SHT_STRTAB)
			sections[i].sh_size = 1ull << 39;
	fd = memfd_create("sparse", MFD_CLOEXEC);
	assert_int_equal(write(fd, bytes, size), size);
	assert_int_equal(ftruncate(fd, 1ll << 40), 0);
	if (elf_syms_load(fd, NULL, NULL, &syms) == 0)
		elf_syms_free(syms);
	close(fd);
	free(bytes);
}

static void test_many_symbols_load(void **state)
{
	enum { FUNCTIONS = 500000 };
	struct timespec start, end;
	struct elf_syms *syms;
	char path[256], name[32];
	double seconds;
	FILE *file;
	uint64_t base;

	(void)state;
	SKIP_UNDER_VALGRIND();
	snprintf(path, sizeof(path), "%s/many.S", folder);
	file = fopen(path, "w");
	assert_non_null(file);
	fprintf(file, "	.text\n");
	for (int i = 0; i < FUNCTIONS; i++)
		fprintf(file,
			"	.type _ZN5torch8function%07dEv, "
			"@function\n_ZN5torch8function%07dEv:\n"
			"	.quad 0\n	.size _ZN5torch8function%07dEv, 8\n",
			i * 7 % FUNCTIONS, i * 7 % FUNCTIONS, i * 7 % FUNCTIONS);
	fprintf(file, "	.globl base\nbase:\n	.section .note.GNU-stack,\"\",@progbits\n");
	fclose(file);
	shell("${CC:-cc} -nostdlib -nostartfiles -shared many.S -o many.so");
	base = offset_of("many.so", "_ZN5torch8function0000000Ev");
	clock_gettime(CLOCK_MONOTONIC, &start);
	syms = load("many.so");
	clock_gettime(CLOCK_MONOTONIC, &end);
	seconds =
		(double)(end.tv_sec - start.tv_sec) + (double)(end.tv_nsec - start.tv_nsec) * 1e-9;
	assert_non_null(syms);
	assert_true(elf_syms_count(syms) >= FUNCTIONS);
	snprintf(name, sizeof(name), "_ZN5torch8function%07dEv", 123456 * 7 % FUNCTIONS);
	expect_name(syms, base + 123456 * 8 + 3, name);
	elf_syms_free(syms);
	print_message("%d symbols in %.3f s\n", FUNCTIONS, seconds);
}

static void the_build_id_is_known(void **state)
{
	struct elf_syms *syms;

	(void)state;
	shell("${CC:-cc} -O1 -fPIC -shared -Wl,--build-id=0x00fedcba98765432 program.c -o id.so");
	syms = load("id.so");
	assert_non_null(syms);
	assert_string_equal(elf_syms_build_id(syms), "00fedcba98765432");
	elf_syms_free(syms);
	shell("${CC:-cc} -O1 -fPIC -shared -Wl,--build-id=none program.c -o id.so");
	syms = load("id.so");
	assert_string_equal(elf_syms_build_id(syms), "");
	elf_syms_free(syms);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pie_and_not),
		cmocka_unit_test(test_stubs),
		cmocka_unit_test(test_choice_of_names),
		cmocka_unit_test(a_symbol_without_a_size_ends_with_its_function),
		cmocka_unit_test(test_stripped_files),
		cmocka_unit_test(test_debuglink),
		cmocka_unit_test(test_mini_debuginfo),
		cmocka_unit_test(test_vdso_from_memory),
		cmocka_unit_test(test_not_elf),
		cmocka_unit_test(test_truncated_files),
		cmocka_unit_test(test_absurd_headers),
		cmocka_unit_test(test_sections_that_share_and_loop),
		cmocka_unit_test(test_sparse_file),
		cmocka_unit_test(test_many_symbols_load),
		cmocka_unit_test(the_build_id_is_known),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
